"""A training run on disk, so that it can be killed: JSON facts and safetensors arrays in one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from fathom.base import archive
from fathom.base.files import Facts

Trees = dict[str, Any]  # PyTrees by name
T = TypeVar("T")


class CheckpointError(ValueError):
    """The checkpoint cannot be used; the message says why in one line."""


def write(path: Path, facts: Facts, trees: Trees) -> None:
    """The facts and the arrays of each tree. The old file stays whole until the new one is complete."""
    arrays: dict[str, np.ndarray] = {}
    for name, tree in trees.items():
        arrays |= arrays_of(name, tree)
    archive.write(path, facts, arrays, "facts.json", CheckpointError, compressed=False)


def arrays_of(name: str, tree: object) -> dict[str, np.ndarray]:
    """The arrays of a tree, numbered in its order."""
    return {f"{name}.{i}": np.array(leaf, order="C") for i, leaf in enumerate(arrays_in(tree))}


def arrays_in(tree: object) -> list[jax.Array]:
    """The arrays of a tree, in its order."""
    found: list[jax.Array] = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    return found


def read(path: Path, fingerprint: str, like: Trees) -> tuple[Facts, Trees]:
    """What `write` wrote, as trees of the same structure as `like`."""
    try:
        facts, arrays = archive.read(path, "facts.json")
    except (archive.ArchiveError, OSError) as problem:
        raise CheckpointError(f"{path} is no checkpoint, or it is damaged ({problem}): remove it") from None
    if facts.get("fingerprint") != fingerprint:
        raise CheckpointError(f"{path} belongs to a training of other data or settings: remove it or name another file")
    return facts, {name: filled(name, tree, arrays) for name, tree in like.items()}


def filled(name: str, tree: T, arrays: Mapping[str, np.ndarray]) -> T:
    """A tree of the same structure with the arrays that `arrays_of` took; their shapes may differ."""
    dynamic, static = eqx.partition(tree, eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    if missing := [i for i in range(len(leaves)) if f"{name}.{i}" not in arrays]:
        raise CheckpointError(f"array {name}.{missing[0]} is missing")
    stored = [jax.numpy.asarray(arrays[f"{name}.{i}"], leaf.dtype) for i, leaf in enumerate(leaves)]
    return eqx.combine(jax.tree.unflatten(structure, stored), static)
