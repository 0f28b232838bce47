"""Words for what a calendar knows: public holidays, and stretches without observations."""

from __future__ import annotations

from fathom.report.facts.part import Component
from fathom.report.facts.setting import Axis, Setting
from fathom.report.facts.whole import Facts
from fathom.report.words.text import counted, listed

NAMED = 3  # gaps that are told one by one, the longest first


def days(setting: Setting) -> str:
    """What the days are called on which a part applies."""
    return "public holidays" if setting.holidays else "the listed days"


def applies(c: Component) -> str:
    """On how many days a part of listed days applies."""
    assert c.holidays is not None
    whose = f", those of {c.setting.holidays}," if c.setting.holidays else ""
    return f"it applies on {counted(c.holidays.seen, 'day')} of the record{whose} and is nothing on all others"


def ahead(c: Component) -> str:
    """When such a part applies next."""
    assert c.holidays is not None
    if c.holidays.next is None:
        return f"{days(c.setting)} are not due within the forecast"
    axis = c.setting.axes[c.setting.time or 0]
    return f"it applies next on {axis.day(c.holidays.next + 0.5 * (axis.rule.spacing if axis.rule else 0.0))}"


def gaps(setting: Setting) -> list[str]:
    """Where the record has no observations."""
    if not setting.gaps or setting.time is None:
        return []
    axis = setting.axes[setting.time]
    longest = sorted(setting.gaps, key=lambda gap: gap[0] - gap[1])[:NAMED]
    told = [f"between {between(axis, *gap)}" for gap in sorted(longest)]
    rest = len(setting.gaps) - len(longest)
    more = [f"in {counted(rest, 'shorter gap')}"] if rest else []
    return [f"there are no observations {listed([*told, *more])}: what is drawn there is the model's guess"]


def between(axis: Axis, low: float, high: float) -> str:
    """Two moments, the year once where they share it: "3 March and 20 April 2021"."""
    first, last = axis.place(low), axis.place(high)
    year = last[-4:]
    shared = year.isdigit() and first.endswith(f" {year}") and last.endswith(f" {year}")
    return f"{first.removesuffix(' ' + year) if shared else first} and {last}"


def missed(facts: Facts) -> list[str]:
    """Public holidays that were asked for and are no part of the model."""
    if not facts.setting.holidays or any(c.holidays is not None for c in facts.components):
        return []
    return [f"public holidays ({facts.setting.holidays}) make no difference that these data could show"]
