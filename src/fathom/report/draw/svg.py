"""A small builder of inline SVG whose colours are those of the page, in daylight and in the dark.

Shapes carry classes, never colours: the style sheet gives them, so that a picture follows `prefers-color-scheme`.
Curves are simplified to what can be seen, a fifth of a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from fathom.report.draw.scales import Scale, Tick, number_ticks
from fathom.report.facts.part import Z90

MOST_DOTS = 1200  # in one picture
SEEN = 0.2  # pixels: a smaller deviation cannot be seen
NARROWEST = 9.0  # pixels: a cycle drawn narrower is a comb
ENOUGH = 20  # points that show how far a cycle swings
GOLDEN = (math.sqrt(5) - 1) / 2
Z50 = 0.6744897501960817  # standard deviations from the mean to either end of a 50 % interval


def simplified(x: np.ndarray, y: np.ndarray, tolerance: float = SEEN) -> np.ndarray:
    """Which points of a curve to keep so that no other lies further from it than the tolerance (Douglas-Peucker)."""
    keep = np.zeros(len(x), dtype=bool)
    keep[[0, -1]] = True
    stack = [(0, len(x) - 1)]
    while stack:
        a, b = stack.pop()
        if b - a < 2:
            continue
        dx, dy = x[b] - x[a], y[b] - y[a]
        inner = slice(a + 1, b)
        cross = np.abs(dx * (y[inner] - y[a]) - dy * (x[inner] - x[a]))
        length = float(np.hypot(dx, dy))
        gaps = cross / length if length > 0 else np.hypot(x[inner] - x[a], y[inner] - y[a])
        k = int(np.argmax(gaps))
        if gaps[k] > tolerance:
            keep[a + 1 + k] = True
            stack += [(a, a + 1 + k), (a + 1 + k, b)]
    return keep


def points(x: np.ndarray, y: np.ndarray) -> str:
    """Coordinates to a tenth of a pixel."""
    return " ".join(f"{_short(a)},{_short(b)}" for a, b in zip(x, y, strict=True))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def thinned(n: int, most: int) -> np.ndarray:
    """Which of n to draw so that no more than `most` are left: the rest would be heavier, not clearer.

    One of each of `most` stretches, at a place that the golden ratio picks: even steps would fall in with a cycle.
    """
    if n <= most:
        return np.arange(n)
    k = np.arange(most)
    return np.unique(np.floor((k + k * GOLDEN % 1) * n / most).astype(int))


def enveloped(
    x: np.ndarray, low: np.ndarray, high: np.ndarray, window: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From where to where two curves swing within each window of x: its middle, the lowest low, the highest high."""
    count = max(int((x[-1] - x[0]) / window), 1)
    place = np.minimum(((x - x[0]) / (x[-1] - x[0]) * count).astype(int), count - 1)
    inside = [np.flatnonzero(place == k) for k in range(count)]
    usual = np.median([len(rows) for rows in inside])
    inside = [rows for rows in inside if len(rows) > usual / 2]  # fewer would not show a whole cycle
    middles = [x[0] + (place[rows[0]] + 0.5) * (x[-1] - x[0]) / count for rows in inside]
    bottom, top = ([float(pick(v[rows])) for rows in inside] for v, pick in ((low, np.min), (high, np.max)))
    at, bottom, top = [x[0], *middles, x[-1]], [bottom[0], *bottom, bottom[-1]], [top[0], *top, top[-1]]
    return np.array(at), np.array(bottom), np.array(top)


def picture(
    width: float,
    height: float,
    title: str,
    description: str,
    body: Sequence[str],
    kind: str = "",
    more: str = "",  # attributes
) -> str:
    """A whole picture: its title and description are for screen readers."""
    return (
        f'<svg class="{f"pic {kind}".strip()}" viewBox="0 0 {width:g} {height:g}" role="img"{more}>'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(body)}</svg>"
    )


Band = tuple[np.ndarray, np.ndarray, str]


def normal_bands(mean: np.ndarray, sd: np.ndarray) -> list[Band]:
    """The 90 % and 50 % bands of a normal distribution."""
    return [(mean - z * sd, mean + z * sd, shade) for z, shade in ((Z90, "b90"), (Z50, "b50"))]


class Panel:
    """A plotting area of a picture: values go in, shapes come out in `body`."""

    def __init__(
        self,
        box: tuple[float, float, float, float],  # left, top, width, height in pixels
        x: tuple[float, float],
        y: tuple[float, float],
    ):
        self.left, self.top, self.width, self.height = box
        self.x = Scale(*x, 0.0, self.width)
        self.y = Scale(*y, self.height, 0.0)
        self.behind: list[str] = []
        self.inside: list[str] = []
        self.over: list[str] = []

    @property
    def body(self) -> str:
        """Everything that was drawn: what leaves the area is cut off, but for dots and words."""
        size = f'width="{_short(self.width)}" height="{_short(self.height)}"'
        move = f'transform="translate({_short(self.left)},{_short(self.top)})"'
        clipped = f"<svg {size}>{''.join(self.inside)}</svg>"
        return f"<g {move}>{''.join(self.behind)}{clipped}{''.join(self.over)}</g>"

    def curve(self, x: np.ndarray, y: np.ndarray, kind: str = "line") -> None:
        """A line through points."""
        px, py = self._pixels(x, y)
        keep = simplified(px, py)
        self.inside.append(f'<path class="{kind}" d="M{points(px[keep], py[keep])}"/>')

    def band(self, x: np.ndarray, low: np.ndarray, high: np.ndarray, kind: str) -> None:
        """The area between two curves."""
        (px, top), (_, bottom) = self._pixels(x, high), self._pixels(x, low)
        above, below = simplified(px, top), simplified(px, bottom)
        edge = points(px[above], top[above]) + " " + points(px[below][::-1], bottom[below][::-1])
        self.inside.append(f'<path class="{kind}" d="M{edge}Z"/>')

    def bands(self, x: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> None:
        """The 50 % and 90 % bands of a normal distribution."""
        for low, high, shade in normal_bands(mean, sd):
            self.band(x, low, high, shade)

    def crowded(self, period: float) -> bool:
        """True where cycles of this period are too narrow to be drawn one by one."""
        return bool(period * self.width < NARROWEST * abs(self.x.high - self.x.low))

    def fit(self, x: np.ndarray, mean: np.ndarray, bands: Sequence[Band], period: float, kind: str = "line") -> None:
        """A mean and its bands, widest first; of cycles too narrow to be drawn, how far they swing."""
        if not self.crowded(period):
            for low, high, shade in bands:
                self.band(x, low, high, shade)
            self.curve(x, mean, kind)
            return
        span = abs(self.x.high - self.x.low)
        window = max(period, 2 * span / self.width, ENOUGH * span / len(x))
        low, high, _ = bands[0]
        at, *outer = enveloped(x, low, high, window)
        _, *inner = enveloped(x, mean, mean, window)
        self.swing(at, inner, outer)

    def swing(self, x: np.ndarray, inner: Sequence[np.ndarray], outer: Sequence[np.ndarray]) -> None:
        """Between which values something swings, with the band around it."""
        for (low, high), shade in ((outer, "b90"), (inner, "swing")):
            self.band(x, low, high, shade)

    def dots(self, x: np.ndarray, y: np.ndarray, size: float, kind: str = "dot") -> None:
        """Small round marks, as one path of points with round caps: a twentieth of the weight of circles."""
        px, py = self._pixels(x, y)
        seen = (py >= -1) & (py <= self.height + 1)
        marks = "".join(f"M{_short(a)},{_short(b)}h0" for a, b in zip(px[seen], py[seen], strict=True))
        self.over.append(f'<path class="{kind}" stroke-width="{size:.1f}" d="{marks}"/>')

    def rings(self, x: np.ndarray, y: np.ndarray, size: float = 4.5) -> None:
        """Circles around dots that deserve a look."""
        for a, b in zip(*self._pixels(x, y), strict=True):
            self.over.append(f'<circle class="odd" cx="{_short(a)}" cy="{_short(b)}" r="{size:g}"/>')

    def ground(self, low: float, high: float) -> None:
        """A tinted stretch of the x axis."""
        a, b = self.x(low), np.minimum(self.x(high), self.width)
        self.behind.insert(
            0,
            f'<rect class="ground" x="{_short(float(a))}" y="0" width="{_short(float(b - a))}" '
            f'height="{_short(self.height)}"/>',
        )

    def upright(self, at: float, kind: str = "edge", top: float = 0.0) -> None:
        """A vertical line."""
        x = _short(float(self.x(at)))
        self.behind.append(f'<path class="{kind}" d="M{x},{top:g}V{_short(self.height)}"/>')

    def level(self, at: float, kind: str = "grid") -> None:
        """A horizontal line, if its place is in the area."""
        if not min(self.y.low, self.y.high) <= at <= max(self.y.low, self.y.high):
            return
        self.behind.append(f'<path class="{kind}" d="M0,{_short(float(self.y(at)))}H{_short(self.width)}"/>')

    def x_axis(self, ticks: Sequence[Tick], title: str = "", line: bool = True) -> None:
        """Ticks and words below."""
        if line:
            self.behind.append(f'<path class="axis" d="M0,{_short(self.height)}H{_short(self.width)}"/>')
        for value, text in ticks:
            x = float(self.x(value))
            self.behind.append(f'<path class="axis" d="M{_short(x)},{_short(self.height)}v4"/>')
            self.words(x, self.height + 17, text, "tick", self._anchor(x, text))
        if title:
            self.words(self.width, self.height + 32, title, "tick", "end")

    def y_axis(self, ticks: Sequence[Tick], title: str = "") -> None:
        """Faint lines with their numbers on the left; the title stands above the highest."""
        for value, text in ticks:
            self.level(value)
            self.words(-6, float(self.y(value)) + 4, text, "tick", "end")
        if title:
            self.words(-self.left, -10, title, "tick", "start")

    def words(self, x: float, y: float, text: str, kind: str = "tick", anchor: str = "start") -> None:
        """Text at a pixel of the area."""
        self.over.append(
            f'<text class="{kind}" x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def _anchor(self, x: float, text: str) -> str:
        half = 3.2 * len(text)
        return "end" if x > self.width - half + 12 else "start" if x < half - 24 else "middle"

    def _pixels(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # far outside the area all points are alike, and numbers stay short
        return self.x(np.asarray(x)), np.clip(self.y(np.asarray(y)), -9 * self.height, 10 * self.height)


def dot_size(n: int, largest: float = 4.2) -> float:
    """The size of n dots: the more there are, the smaller."""
    return float(np.clip(55 / math.sqrt(max(n, 1)), 1.3, largest))


def plot_box(
    size: tuple[float, float], ticks: list[tuple[float, str]], right: float = 12, top: float = 26, titled: bool = True
) -> tuple[float, float, float, float]:
    """The plotting area that leaves room for the numbers on the left and, where there is one, a title below."""
    left = 12 + 6.6 * max((len(text) for _, text in ticks), default=2)
    return left, top, size[0] - left - right, size[1] - top - (38 if titled else 24)


def small_panel(
    x: tuple[float, float], y: tuple[float, float], title: str, titled: bool = True, less: float = 0.0
) -> tuple[Panel, tuple[float, float]]:
    """A panel for one of three pictures beside or (with so much `less` of height) below each other, and its size."""
    size = (340.0, (226.0 if titled else 212.0) - less)
    ticks = number_ticks(*y, 4)
    panel = Panel(plot_box(size, ticks, 8, 24, titled), x, y)
    panel.y_axis(ticks, title)
    return panel, size
