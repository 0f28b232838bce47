"""Makes the nodes of the kernel language PyTrees: importing this module loads JAX and registers them.

Parameters and operands are the leaves and branches; the class, the chosen inputs and the static fields are the
structure. Worker processes that only evaluate kernels in NumPy never import it.
"""

from __future__ import annotations

from typing import Any

import jax

from fathom.kernels.base import Kernel
from fathom.kernels.combine import ChangePoint, ChangeWindow, Product, Sum
from fathom.kernels.leaves import LEAVES


def _fields(node: type[Kernel]) -> tuple[str, ...]:
    return ("children", *(p.name for p in node.parameters))


def _register(node: type[Kernel]) -> None:
    def flatten_with_keys(kernel: Kernel) -> tuple[list, tuple]:
        keyed = [(jax.tree_util.GetAttrKey(f), getattr(kernel, f)) for f in _fields(node)]
        return keyed, (kernel.inputs, tuple(getattr(kernel, f) for f in node.static))

    def unflatten(structure: tuple, values: Any) -> Kernel:
        inputs, statics = structure
        fields = dict(zip(_fields(node), values, strict=True)) | dict(zip(node.static, statics, strict=True))
        return node._raw(inputs=inputs, **fields)

    jax.tree_util.register_pytree_with_keys(node, flatten_with_keys, unflatten)


for _node in (*LEAVES, Sum, Product, ChangePoint, ChangeWindow):
    _register(_node)
