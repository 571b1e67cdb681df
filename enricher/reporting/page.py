"""The report as one page that can be mailed: no script, no picture, no address to load from, styles on the elements.

Mail programs drop style sheets, positioning and pictures in ways of their own. So everything is said in words and
figures in plain tables; bars repeat a figure that stands beside them, and the dark theme is an offer in the style sheet
that whoever drops it does not miss.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import css_inline
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from enricher.printing import plural, visible
from enricher.report import AgreementRate, numbers
from enricher.reporting.changes import shown
from enricher.reporting.nouns import FullReport, PastRun

_RANKED = 12  # answers; Gmail cuts mails of more than 102 kB
_STATEMENTS = 4
_TEXT = 600  # characters of one text
_WORDS = {
    "contradicted": "contradicted by a document",
    "source_conflict": "documents disagree",
    "unsupported": "in no document",
    "partial": "only partly supported",
    "omitted": "left out",
}


def as_html(report: FullReport) -> str:
    """Render the report; texts of traces are escaped, cut when long, and hide nothing."""
    page = _environment().get_template("report.html").render(
        report=report,
        run=report.run,
        numbers=list(numbers(report.run)),
        ranked=report.ranked[:_RANKED],
        statements=_STATEMENTS,
        agreement=_agreement(report.run.agreement),
        width=_width(report.changes.runs),
    )  # fmt: skip
    return _inliner().inline(page)


@lru_cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("enricher", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"plural": plural, "figure": shown, "cut": _cut, "standing": lambda word: _WORDS.get(word, word)}
    return made


@lru_cache
def _inliner() -> css_inline.CSSInliner:
    # Nothing is fetched.
    return css_inline.CSSInliner(load_remote_stylesheets=False)


def _shown(value: Any) -> Any:
    """Make every printed text visible; what is HTML of ours already is left alone."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _cut(text: str, most: int = _TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _width(runs: Sequence[PastRun]) -> Any:
    """Return a function that gives bars of shares their width: the largest share fills the column."""
    largest = max((run.flagged.rate or 0.0 for run in runs), default=0.0) or 1.0
    return lambda share: max(1, round(100 * share / largest)) if share else 0


def _agreement(rates: Sequence[AgreementRate]) -> list[tuple[str, str, int, int]]:
    """Sum the days up: judge, kind of finding, checked, agreed."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for rate in rates:
        checked, agreed = totals.get((rate.judge, rate.standing), (0, 0))
        totals[rate.judge, rate.standing] = checked + rate.checked, agreed + rate.agreed
    return [(judge, standing, *counts) for (judge, standing), counts in sorted(totals.items())]
