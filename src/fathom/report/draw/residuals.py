"""The pictures of what a model leaves over: its residuals beside what would be expected if the model were right."""

from __future__ import annotations

import numpy as np

from fathom.report.draw.scales import frequency_ticks, lag_ticks, limits, number_ticks
from fathom.report.draw.svg import picture, small_panel, thinned
from fathom.report.facts.setting import Axis
from fathom.report.facts.whole import Curves


def autocorrelation(curves: Curves, axis: Axis) -> str:
    """How much residuals some way apart resemble each other."""
    keep = slice(0, min(len(curves.lag), 60))
    x, acf = curves.lag[keep], curves.acf[keep]
    y = limits(acf, curves.acf_low[keep], curves.acf_high[keep], np.zeros(1))
    panel, size = small_panel((0.0, float(x[-1]) * 1.02), y, "correlation")
    panel.band(x, curves.acf_low[keep], curves.acf_high[keep], "b90 expected")
    panel.level(0.0, "zero")
    feet, tops = float(panel.y(0.0)), panel.y(acf)
    stems = "".join(f"M{float(panel.x(a)):.1f},{feet:.1f}V{float(b):.1f}" for a, b in zip(x, tops, strict=True))
    panel.inside.append(f'<path class="stem" d="{stems}"/>')
    ticks, unit = lag_ticks(axis, float(x[-1]))
    panel.x_axis(ticks, f"distance ({unit})")
    words = "Correlation of residuals by distance; shaded, where 90 % would lie if the model were right."
    return picture(*size, "Resemblance of residuals", words, [panel.body], "model")


def periodogram(curves: Curves, axis: Axis) -> str:
    """How strong every rhythm is that the residuals still hold."""
    x, keep = curves.frequency, np.isfinite(curves.power)
    x, power, low, high = x[keep], curves.power[keep], curves.power_low[keep], curves.power_high[keep]
    y = limits(high, power, np.quantile(low, [0.5]), np.quantile(power, [0.02]))
    panel, size = small_panel((0.0, float(x[-1])), y, "strength (dB)")
    panel.band(x, low, high, "b90 expected")
    panel.curve(x, power, "line main")
    ticks, unit = frequency_ticks(axis, float(x[-1]))
    panel.x_axis(ticks, f"cycles per {unit}")
    words = "Strength of each rhythm in the residuals, in decibels; shaded, where 90 % would lie."
    return picture(*size, "Rhythms left over", words, [panel.body], "model")


def quantiles(curves: Curves) -> str:
    """The residuals in order against those of a bell curve."""
    x, z = curves.normal, curves.quantile
    ends = (float(x[0]) * 1.06, float(x[-1]) * 1.06)
    panel, size = small_panel(ends, limits(z, curves.quantile_low, curves.quantile_high), "residual (sd)")
    panel.band(x, curves.quantile_low, curves.quantile_high, "b90 expected")
    panel.curve(np.array(ends), np.array(ends), "zero")
    thin = thinned(len(x), 400)
    panel.dots(x[thin], z[thin], 3.2, "dot own")
    panel.x_axis(number_ticks(*ends, 5), "expected of a bell curve (sd)")
    words = "Residuals in order of size against a bell curve; shaded, where 90 % would lie."
    return picture(*size, "Sizes of residuals", words, [panel.body], "model")
