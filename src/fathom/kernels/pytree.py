"""Makes the nodes of the kernel language PyTrees: importing this module loads JAX and registers them.

Parameters and operands are the leaves and branches; the class, the chosen inputs and the static fields are the
structure. Worker processes that only evaluate kernels in NumPy never import it.
"""

from __future__ import annotations

from collections.abc import Iterable

import jax

from fathom.base.arrays import Array
from fathom.kernels.base import Kernel
from fathom.kernels.combine import Product, Sum
from fathom.kernels.leaves import KNOWN

# chosen inputs, static fields, and which parameters are fixed
Structure = tuple[tuple[int | str, ...] | None, tuple[object, ...], frozenset[str]]


def _fields(node: type[Kernel]) -> tuple[str, ...]:
    return ("children", *(p.name for p in node.parameters))


def register(node: type[Kernel]) -> None:
    """Make a class of kernels a PyTree."""

    def flatten_with_keys(kernel: Kernel) -> tuple[list[tuple[object, Array]], Structure]:
        keyed = [(jax.tree_util.GetAttrKey(f), getattr(kernel, f)) for f in _fields(node)]
        return keyed, (kernel.inputs, tuple(getattr(kernel, f) for f in node.static), kernel.fixed)

    def unflatten(structure: Structure, values: Iterable[Array]) -> Kernel:
        inputs, statics, fixed = structure
        fields = dict(zip(_fields(node), values, strict=True)) | dict(zip(node.static, statics, strict=True))
        return node._raw(inputs=inputs, fixed=fixed, **fields)

    jax.tree_util.register_pytree_with_keys(node, flatten_with_keys, unflatten)


for _node in (*KNOWN.values(), Sum, Product):
    register(_node)
