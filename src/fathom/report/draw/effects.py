"""The pictures of a model of several inputs: what matters, effects of one input, and heat maps of two."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from fathom.predictive import Predictive
from fathom.report.draw.hover import along, told
from fathom.report.draw.scales import axis_ticks, limits, number_ticks
from fathom.report.draw.svg import MOST_DOTS, Panel, dot_size, normal_bands, picture, plot_box, thinned
from fathom.report.facts.part import Z90, Component, Surface
from fathom.report.facts.whole import Facts
from fathom.report.numbers import percent

SHADES = 8  # on each side of zero
MOST_BARS = 12
MOST_ANSWERS = 120  # places of an effect at which a script tells numbers


def importance(facts: Facts) -> str:
    """Bars for the share of variance that each input accounts for, darker for what it does alone."""
    shown = facts.effects[:MOST_BARS]
    names = [facts.setting.axes[e.input].name for e in shown]
    width, row, top = 380.0, 30.0, 26.0
    left = 12 + 7.4 * max(len(_cut(name)) for name in names)
    room = width - left - 62
    body = [f'<text class="tick" x="{left:g}" y="12">share of what the model explains</text>']
    for k, (e, name) in enumerate(zip(shown, names, strict=True)):
        y = top + k * row
        share = percent(e.total).replace("less than", "&lt;")
        total, alone = (room * min(max(v, 0.0), 1.0) for v in (e.total, min(e.alone, e.total)))
        body.append(
            f'<text class="bar-name" x="{left - 8:g}" y="{y + 15:g}" text-anchor="end">{escape(_cut(name))}</text>'
            f'<rect class="bar-all" x="{left:g}" y="{y + 4:g}" width="{total:.1f}" height="15"/>'
            f'<rect class="bar-own" x="{left:g}" y="{y + 4:g}" width="{alone:.1f}" height="15"/>'
            f'<text class="tick" x="{left + max(total, 1) + 6:.1f}" y="{y + 16:g}">{share}</text>'
        )
    words = "Share of the variance of the model's mean that is lost when an input is shuffled: " + "; ".join(
        f"{name} {percent(e.total)}" for name, e in zip(names, shown, strict=True)
    )
    return picture(width, top + row * len(shown) + 6, "Which inputs matter", words, body, "model")


def _cut(name: str, most: int = 18) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def orders(facts: Facts) -> list[tuple[str, float, str]]:
    """Shares by order of interaction: (words, share between 0 and 1, percentage)."""
    called = {1: "inputs one at a time", 2: "pairs of inputs", 3: "three inputs jointly"}
    found = []
    for o in facts.orders:
        words = called.get(o.order, f"{o.order} inputs jointly")
        found.append((words, min(max(o.share, 0.0), 1.0), percent(max(o.share, 0.0))))
    return found


def predicted(facts: Facts, y: np.ndarray, guess: Predictive, odd: Sequence[int] = ()) -> str:
    """Each observation against the prediction from all others, with rings around the odd ones."""
    mean = np.asarray(guess.mean(), dtype=float)
    ends = limits(y, mean)
    width, height = 380.0, 300.0
    ticks = number_ticks(*ends, 5)
    panel = Panel(plot_box((width, height), ticks), ends, ends)
    panel.y_axis(ticks, f"observed{f' ({facts.setting.unit})' if facts.setting.unit else ''}")
    panel.x_axis(number_ticks(*ends, 6), "predicted from all other rows")
    panel.curve(np.array(ends), np.array(ends), "zero")
    thin = thinned(len(y), MOST_DOTS)
    panel.dots(mean[thin], y[thin], dot_size(len(y[thin])), "dot own")
    panel.rings(mean[list(odd)], y[list(odd)])
    words = f"{facts.setting.n_rows} rows, each predicted from the others; on the diagonal, prediction and truth agree."
    return picture(width, height, "Predicted and observed", words, [panel.body], "model")


def effect(facts: Facts, c: Component, X: np.ndarray, name: str) -> str:
    """A component of one input with its bands; ticks at the foot are rows of the data."""
    assert c.curve is not None
    axis = facts.setting.axes[c.curve.input]
    x, mean, sd = (np.array(v) for v in (c.curve.x, c.curve.mean, c.curve.sd))
    y = limits(mean - Z90 * sd, mean + Z90 * sd)
    width, height = 460.0, 280.0
    ticks = number_ticks(*y, 4)
    panel = Panel(plot_box((width, height), ticks), (float(x[0]), float(x[-1])), y)
    panel.y_axis(ticks, facts.setting.unit or facts.setting.target)
    panel.x_axis(axis_ticks(axis, float(x[0]), float(x[-1]), 6), axis.label)
    if x[-1] > axis.high:
        panel.ground(axis.high, float(x[-1]))
    panel.level(0.0, "zero")
    cycle = c.shape.cycle.period if c.shape is not None and c.shape.cycle is not None else np.inf
    panel.fit(x, mean, normal_bands(mean, sd), cycle)
    rug = np.unique(np.round(panel.x(X[:, c.curve.input]), 1))
    ticks_at = "".join(f"M{v:g},{panel.height:.1f}v-6" for v in rug)
    panel.over.append(f'<path class="rug" d="{ticks_at}"/>')
    words = f"Its mean with 50 % and 90 % bands along {axis.name}; ticks at the foot are rows of the data."
    at = thinned(len(x), MOST_ANSWERS)
    low, high = mean[at] - Z90 * sd[at], mean[at] + Z90 * sd[at]
    more = along(axis, x[at]) + told(panel, facts.setting.unit, mean[at], low, high, None, "effect")
    return picture(width, height, f"{name}: effect", words, [panel.body], more=more)


def heat_map(facts: Facts, c: Component, X: np.ndarray, name: str) -> str:
    """A component of two inputs as shades of its colour above zero and of grey below, the rows of the data on top."""
    assert c.surface is not None
    first, second = (facts.setting.axes[i] for i in c.surface.inputs)
    width, height = 460.0, 360.0
    ticks = axis_ticks(second, second.low, second.high, 6)
    left, top, w, h = plot_box((width, height), ticks, 76, 30)
    panel = Panel((left, top, w, h), (first.low, first.high), (second.low, second.high))
    panel.inside.append(_cells(c.surface, w, h))
    for value, text in ticks:
        panel.words(-6, float(panel.y(value)) + 4, text, "tick", "end")
    panel.words(-left, -12, second.label, "tick")
    panel.x_axis(axis_ticks(first, first.low, first.high, 6), first.label)
    rows = X[thinned(len(X), MOST_DOTS)]
    i, j = c.surface.inputs
    panel.dots(rows[:, i], rows[:, j], dot_size(len(rows), 3.0), "dot ink")
    body = [panel.body, _key(c.surface, left + w + 14, top, h)]
    words = f"Mean of this part over {first.name} and {second.name}; dots are rows of the data."
    return picture(width, height, f"{name}: heat map", words, body, "heat")


def _cells(surface: Surface, width: float, height: float) -> str:
    """Shades of the surface, neighbours of one shade joined."""
    values = np.array(surface.mean)
    shade = _shades(values)
    nx, ny = values.shape
    dx, dy, found = width / nx, height / ny, []
    for j in range(ny):
        i = 0
        while i < nx:
            run = i
            while run < nx and shade[run, j] == shade[i, j]:
                run += 1
            if shade[i, j]:
                found.append(
                    f'<rect class="{_class(shade[i, j])}" x="{i * dx:.1f}" y="{height - (j + 1) * dy:.1f}" '
                    f'width="{(run - i) * dx + 0.3:.1f}" height="{dy + 0.3:.1f}"/>'
                )
            i = run
    return f'<rect class="empty" width="{width:.1f}" height="{height:.1f}"/>{"".join(found)}'


def _shades(values: np.ndarray) -> np.ndarray:
    largest = float(np.abs(values).max()) or 1.0
    return np.clip(np.round(values / largest * SHADES), -SHADES, SHADES).astype(int)


def _class(shade: int) -> str:
    return f"{'up' if shade > 0 else 'down'} s{abs(shade)}"


def _key(surface: Surface, x: float, top: float, height: float) -> str:
    """What the shades mean, from the largest value down to its negative."""
    largest = float(np.abs(np.array(surface.mean)).max()) or 1.0
    panel = Panel((x, top, 14, height), (0, 1), (-largest, largest))
    step = height / (2 * SHADES + 1)
    for k, shade in enumerate(range(SHADES, -SHADES - 1, -1)):
        if shade:
            where = f'y="{k * step:.1f}" width="14" height="{step + 0.3:.1f}"'
            panel.inside.append(f'<rect class="{_class(shade)}" {where}/>')
    for value, text in number_ticks(-largest, largest, 5):
        panel.words(20, float(panel.y(value)) + 4, text, "tick")
    return panel.body


def tiny_map(c: Component, name: str) -> str:
    """The heat map in the list of parts."""
    assert c.surface is not None
    panel = Panel((2, 2, 92, 30), (0, 1), (0, 1))
    panel.inside.append(_cells(c.surface, 92, 30))
    words = "The shape of this part over two inputs."
    return picture(96, 34, f"{name}, in small", words, [panel.body], "spark heat")
