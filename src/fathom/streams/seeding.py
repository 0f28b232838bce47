"""How a stream with hidden layers begins: what hidden outputs are thought to be, from principal components on.

Before any data a hidden layer says its prior and particles carry no weight. So every episode begins with some rows
whose hidden outputs are given: in the first the principal components of the outputs (of the inputs, where they have
more), in later ones what the episode before thought of them. Kernels are learnt from the same pairs, layer by layer. A
row teaches once: those that begin an episode do not pass through it again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.streams.online import Online, Plan, begun
from fathom.streams.parameters import Parameters, parameters

if TYPE_CHECKING:
    from fathom.streams.recursion import State

SHARE = 0.25  # of the rows that begin an episode, at most


def learnt_deeply(plan: Plan, X: np.ndarray, Y: np.ndarray) -> Online:
    """A stream with hidden layers after its episodes over X (N, D) and Y (N, P)."""
    thought = [principal(X, Y, width, plan.rng(0)) for width in plan.widths]
    found: Parameters | None = None
    for episode in range(plan.episodes):
        rng = plan.rng(episode)
        order = rng.permutation(len(X))
        first = np.sort(order[: max(1, min(int(SHARE * len(X)), plan.budget))])
        rest = np.setdiff1d(np.arange(len(X)), first)
        found = layer_by_layer(plan, found, X, thought, Y, rng)
        stream = begun(plan, found, X.shape[1], Y.shape[1])
        given = [seen[first] for seen in inputs_of(plan, X, thought)]
        seed_layers(stream, given, [*(H[first] for H in thought), Y[first]])
        if len(rest):
            told = stream.go_on(X[rest], Y[rest])
            for H, after in zip(thought, told.hidden, strict=True):
                H[rest] = after
    return stream


def principal(X: np.ndarray, Y: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """The first components of Y, or of X where Y has fewer, with variance one; repeated where both have too few."""
    known = np.where(np.isnan(Y), 0.0, Y)
    source = known if Y.shape[1] >= width else X if X.shape[1] >= width else np.hstack([known, X])
    centred = source - source.mean(0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    kept = s > 1e-8 * s[0] if len(s) and s[0] > 0 else s > 0
    scores = (U * np.sqrt(len(X)))[:, kept][:, :width]
    if not scores.shape[1]:
        return rng.standard_normal((len(X), width))
    times = -(-width // scores.shape[1])
    return np.asarray(np.tile(scores, times)[:, :width])


def inputs_of(plan: Plan, X: np.ndarray, thought: list[np.ndarray]) -> list[np.ndarray]:
    """What every layer sees: the rows, then hidden outputs as they are passed on."""
    passed = [1 / (1 + np.exp(-H)) for H in thought] if plan.way.logistic else thought
    return [X, *passed]


def layer_by_layer(
    plan: Plan,
    before: Parameters | None,
    X: np.ndarray,
    thought: list[np.ndarray],
    Y: np.ndarray,
    rng: np.random.Generator,
) -> Parameters:
    """The parameters of every layer from the pairs of what it sees and what it is thought to say."""
    seen, old = inputs_of(plan, X, thought), [None] * len(thought) if before is None else before.hidden
    hidden = tuple(
        parameters(kernel, inputs, H, False, rng, None, learnt).kernel
        for kernel, inputs, H, learnt in zip(plan.hidden, seen[:-1], thought, old, strict=True)
    )
    last = None if before is None else before.kernel
    return parameters(plan.kernel, seen[-1], Y, plan.varying, rng, None, last)._replace(hidden=hidden)


def seed_layers(stream: Online, seen: list[np.ndarray], said: list[np.ndarray]) -> None:
    """Teach every layer the pairs of its inputs and outputs, as streams of their own."""
    hidden: list[State] = []
    found, memory = stream.found, stream.memory
    kernels = [*found.hidden, found.kernel]
    for i, (kernel, X, H) in enumerate(zip(kernels, seen, said, strict=True)):
        last = i + 1 == len(kernels)
        plan = replace(stream.plan, kernel=kernel, hidden=(), widths=(), varying=stream.plan.varying and last)
        law = found._replace(kernel=kernel, hidden=()) if last else Parameters(kernel, None, np.zeros(H.shape[1]))
        alone = begun(plan, law, X.shape[1], H.shape[1])
        if last:
            alone.memory = memory._replace(hidden=())
        else:
            alone.memory = alone.memory._replace(f=memory.hidden[i])
        alone.go_on(X, H)
        if last:
            stream.memory = alone.memory._replace(hidden=tuple(hidden))
        else:
            hidden.append(alone.memory.f)
