"""Public holidays of a country as stretches of a time axis: known for the past and for the years to come."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.data.columns import DataError
from fathom.data.dates import DAY
from fathom.data.timeaxis import TimeRule
from fathom.kernels.nonstationary import Days
from fathom.kernels.syntax import to_text

if TYPE_CHECKING:
    from fathom.data.dataset import Dataset

AHEAD = 10  # years beyond the record, or as many as it has
EARLY = 1e-3  # of a day: that much before midnight a stretch begins and ends, so that midnight is inside
SHOWN = 6  # names of holidays in a note


@dataclass(frozen=True)
class Holidays:
    """The public holidays of a country over a record and the years after it."""

    country: str  # its code, with that of a region behind a dash: "DE", "DE-BY"
    starts: tuple[float, ...] = ()  # of stretches of holidays, on the time axis
    ends: tuple[float, ...] = ()

    def kernel(self, inputs: int | None = None) -> str:
        """The term of a model that has one value on all holidays and none on other days."""
        return to_text(Days(starts=self.starts, ends=self.ends, inputs=inputs))

    def covers(self, times: np.ndarray) -> np.ndarray:
        """Which of some times are holidays."""
        if not self.starts:
            return np.zeros(len(times), dtype=bool)
        return np.asarray(Days(starts=self.starts, ends=self.ends).weight(np.asarray(times), np) > 0)


def with_holidays(dataset: Dataset, country: str) -> Dataset:
    """The data set with the public holidays of a country; an error where its rows are not dated to the day."""
    rule, option = dataset.rule, f"--holidays {country}"
    if rule is None or dataset.time is None or rule.kind != "date":
        raise DataError(f"{option}: {dataset.source or 'the data'} has no column of dates: name it with --time")
    if rule.spacing > 1.5 * 7 / 5 / 365:
        name = dataset.names[dataset.time]
        raise DataError(f"{option}: holidays are days, and the rows of {name!r} are further apart: leave it out")
    times = dataset.X[:, dataset.time]
    first, last = (int(np.floor(times.min())), int(np.ceil(times.max())))
    named = _named(country, range(first - 1, last + max(AHEAD, last - first) + 1))
    days = np.array(sorted(named), dtype="datetime64[D]").astype(np.int64)
    found = _stretches(rule, country, days)
    return replace(dataset, holidays=found, notes=(*dataset.notes, _note(found, rule, times, named)))


def _stretches(rule: TimeRule, country: str, days: np.ndarray) -> Holidays:
    """Neighbouring days joined, as numbers on the axis."""
    if not len(days):
        return Holidays(country)  # of a century that the package does not know
    new, final = np.diff(days, prepend=days[0] - 2) > 1, np.diff(days, append=days[-1] + 2) > 1
    starts, ends = rule.value(days[new] * DAY), rule.value((days[final] + 1) * DAY)
    early = EARLY / 365
    return Holidays(country, tuple((starts - early).tolist()), tuple((ends - early).tolist()))


def _note(found: Holidays, rule: TimeRule, times: np.ndarray, named: dict[Any, str]) -> str:
    seen = {int(rule.moment(float(t))) // DAY for t in times[found.covers(times)]}
    if not seen:
        return f"None of the days in the data is a public holiday ({found.country})."
    names = [text for day, text in named.items() if (day - type(day)(1970, 1, 1)).days in seen]
    known = sorted(set(names), key=lambda n: (-names.count(n), n))
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    days = "day" if len(seen) == 1 else "days"
    return f"Public holidays ({found.country}): {len(seen)} {days} in the data ({', '.join(known[:SHOWN])}{more})."


def _named(country: str, years: range) -> dict[Any, str]:
    """The days of these years with their names, in English where they have them."""
    try:
        import holidays
    except ModuleNotFoundError:
        raise DataError("--holidays needs the package of that name: pip install 'fathomgp[holidays]'") from None
    code, _, region = country.upper().partition("-")
    regions = holidays.list_supported_countries()
    if code not in regions:
        raise DataError(f"--holidays {country}: no such country{_near(country, code, list(regions))}")
    if region and region not in regions[code]:
        raise DataError(
            f"--holidays {country}: {code} has no region {region!r}; there are {', '.join(regions[code]) or 'none'}"
        )
    spoken = holidays.country_holidays(code).supported_languages
    english = next((language for language in spoken if language.startswith("en")), None)
    return dict(holidays.country_holidays(code, subdiv=region or None, years=years, language=english))


def _near(country: str, code: str, codes: list[str]) -> str:
    """Codes of countries whose name or code is like what was asked for."""
    from holidays.registry import COUNTRIES

    names = {module.replace("_", " "): known[1] for module, known in COUNTRIES.items()}
    called = {known: name.title() for name, known in names.items()}
    by_name = [names[n] for n in difflib.get_close_matches(country.lower().replace("_", " "), names, n=2)]
    near = dict.fromkeys([*by_name, *(c for c in difflib.get_close_matches(code, codes, n=6) if c in called)])
    listed = [f"{c} ({called[c]})" for c in near]
    return f" (did you mean {' or '.join(listed[:3])}?)" if listed else ": give its code, such as DE or US-CA"
