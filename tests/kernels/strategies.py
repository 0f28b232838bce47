"""Kernels at random, for property tests."""

import numpy as np
from hypothesis import strategies as st

from fathom.kernels import SM, ArcCos, ChangePoint, ChangeWindow, Product, Sum
from fathom.kernels.leaves import LEAVES
from tests.kernels.members import Bent, Elementary, Mirrored, Network

positive = st.floats(0.2, 4.0).map(lambda v: float(np.round(v, 3)))
location = st.floats(-1.0, 3.0).map(lambda v: float(np.round(v, 3)))


@st.composite
def leaves(draw, inputs=None):
    leaf = draw(st.sampled_from((*LEAVES, Network)))
    chosen = None if inputs is None else (draw(st.sampled_from(inputs)),)
    values = {}
    for p in leaf.parameters:
        number = location if p.unit == "location" else positive
        values[p.name] = (
            draw(st.lists(number, min_size=2, max_size=2)) if leaf is SM and p.size == "list" else draw(number)
        )
    if leaf is ArcCos:
        values["order"] = draw(st.sampled_from([0, 1, 2]))
    return leaf(inputs=None if leaf.name in ("C", "WN") else chosen, **values)


def trees(inputs=None, max_leaves=5):
    """Sums, products, switches and dense kernels of a few leaves; over the given inputs when there are several."""

    def extend(children):
        chosen = st.none() if inputs is None else st.sampled_from(inputs).map(lambda i: (i,))
        pair = st.lists(children, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            pair.map(Sum),
            pair.map(Product),
            st.builds(
                lambda a, b, i, c, s: ChangePoint(a, b, inputs=i, location=c, steepness=s),
                *(children, children, chosen, location, positive),
            ),
            st.builds(
                lambda a, b, i, c, w, s: ChangeWindow(a, b, inputs=i, location=c, width=w, steepness=s),
                *(children, children, chosen, location, positive, positive),
            ),
            st.builds(lambda pair, v: Elementary(*pair, variance=v), pair, positive),
            st.builds(lambda child, c: Mirrored(child, location=c), children, location),
            st.builds(Bent, children),
        )

    return st.recursive(leaves(inputs), extend, max_leaves=max_leaves)
