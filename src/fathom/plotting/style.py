"""How our figures look: colours, type, the panels and the words on them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fathom.predictive import Predictive

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

ACCENT = "#0072B2"
PARTS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe-Ito, less the accent and pale yellow
INK, SOFT, FAINT, DATA, GROUND = "#222222", "#666666", "#DDDDDD", "#8A8A8A", "#F6F3EC"
BANDS = ((0.9, 0.16), (0.5, 0.24))  # level, opacity: the inner band lies on the outer one
STYLE: dict[RcKeyType, object] = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with Matplotlib: text measures the same everywhere
    "font.monospace": ["DejaVu Sans Mono"],
    "text.color": INK,
    "text.parse_math": False,  # a column may be called "price ($)"
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "svg.fonttype": "none",
    "svg.hashsalt": "fathom",
}
SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans'"

WIDTH, RIGHT, FOOTER = 8.0, 0.55, 0.72  # inches


@dataclass(frozen=True)
class Layout:
    """Heights in inches, from the top."""

    header: float
    first: float
    others: float
    gap: float

    def figure(self, n_parts: int) -> float:
        """Height of a figure with so many parts, in inches."""
        return self.header + self.first + n_parts * (self.gap + self.others) + FOOTER


def curve(panel: Axes, x: np.ndarray, predictive: Predictive, colour: str, line: bool = True) -> None:
    """Draw a predictive mean as a line inside its bands."""
    for level, opacity in BANDS:
        lower, upper = predictive.interval(level)
        panel.fill_between(x, lower, upper, color=colour, alpha=opacity, lw=0)
    if line:
        panel.plot(x, predictive.mean(), color=colour, lw=1.3)


def end_labels(panel: Axes, end: float, predictive: Predictive, colour: str, height: float, line: str | None) -> None:
    """Write names beside the ends of the bands, and of the line unless its name is None, as far as there is room."""
    low, high = panel.get_ylim()
    least = 11 / (72 * height) * (high - low)  # apart: one line of text
    ends = [(line, float(predictive.mean()[-1]))] if line is not None else []
    ends += [(f"{100 * level:.0f} %", float(predictive.interval(level)[1][-1])) for level, _ in BANDS]
    taken: list[float] = []
    for text, value in ends:
        if low <= value <= high and all(abs(value - other) >= least for other in taken):
            panel.annotate(
                *(text, (end, value), (5, 0)),
                textcoords="offset points",
                annotation_clip=False,
                va="center",
                color=colour,
                fontsize=8,
            )
            taken.append(value)


def caption(panel: Axes, words: str, kernel: str, colour: str) -> None:
    """Write above a panel what it shows, in words and in the kernel language."""
    crowded = 0.073 * len(words) + 0.06 * len(kernel) > 6.4  # inches on one line
    lines = textwrap.fill(words, 60) if crowded else words
    for text, x, look in (
        (lines, 0, {"ha": "left", "color": colour, "weight": "bold"}),
        (kernel, 1, {"ha": "right", "color": SOFT, "fontsize": 7, "family": "monospace"}),
    ):
        panel.annotate(text, (x, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", **look)


def note(panel: Axes, x: float, words: str, colour: str, left: bool) -> None:
    """Write a few words just above a panel, to the left or to the right of a place on its axis."""
    panel.annotate(
        *(words, (x, 1), (-4 if left else 4, 4)),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if left else "left",
        color=colour,
        fontsize=8,
    )


def heading(figure: Figure, words: str, below: str) -> None:
    """Write the title of a figure, which is also its name for screen readers, and below it how to read the figure."""
    figure.set_label(words)
    height = figure.get_figheight()
    figure.text(0.2 / WIDTH, 1 - 0.32 / height, words, fontsize=13, weight="bold", va="baseline")
    figure.text(0.2 / WIDTH, 1 - 0.44 / height, below, fontsize=8, color=SOFT, va="top", linespacing=1.5)


def tidy(panel: Axes, bottom: bool) -> None:
    """Leave a panel few ticks and faint lines, and no box."""
    for side in ("top", "left", "right"):
        panel.spines[side].set_visible(False)
    panel.spines["bottom"].set_visible(bottom)
    panel.spines["bottom"].set_linewidth(0.8)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=5 if panel.get_label() == "whole" else 3, steps=[1, 2, 2.5, 5, 10]))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
    panel.grid(axis="y", color=FAINT, lw=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(axis="both", length=0, labelsize=8, labelcolor=SOFT, labelfontfamily="sans-serif")
    panel.tick_params(axis="x", length=3 * bottom, width=0.8, color=SOFT, labelbottom=bottom)
    panel.yaxis.label.set_fontsize(8)
    panel.xaxis.label.set_fontsize(8)


def number_text(value: float, digits: int = 6) -> str:
    """A number for a reader: 12,500, not 1.25e+04."""
    value = float(f"{value:.{digits}g}")
    text = f"{value:,.12g}" if abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def stack(n_parts: int, layout: Layout) -> tuple[Figure, list[Axes]]:
    """Make a figure with one panel and `n_parts` below it, which `place` then puts in their places."""
    figure = Figure(figsize=(WIDTH, layout.figure(n_parts)))
    labels = ["whole", *(f"part {i + 1}" for i in range(n_parts))]
    return figure, [figure.add_axes((0.1, 0.1, 0.8, 0.1), label=label) for label in labels]


def place(figure: Figure, panels: Sequence[Axes], layout: Layout) -> None:
    """Put panels below each other, with a left margin that fits the longest number."""
    height = figure.get_figheight()
    longest = max(len(number_text(tick)) for panel in panels for tick in panel.get_yticks())
    left = 0.4 + 0.075 * max(longest, 3)
    width = WIDTH - left - RIGHT
    top = height - layout.header
    for panel in panels:
        size = layout.first if panel is panels[0] else layout.others
        panel.set_position((left / WIDTH, (top - size) / height, width / WIDTH, size / height))
        panel.yaxis.set_label_coords(-(left - 0.22) / width, 0.5)
        top -= size + layout.gap
