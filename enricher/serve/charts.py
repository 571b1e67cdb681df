"""Charts as plain SVG: drawn on the server, coloured by the style sheet, with their figures as a table beside."""

import math
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pygal  # type: ignore[import-untyped]
from markupsafe import Markup
from pygal.style import Style  # type: ignore[import-untyped]

from enricher.serve.showing import visible

# The library hooks into every import for plug-ins of old names, by a protocol that Python warns about and has since
# dropped; nothing here needs it.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]

_WIDTH, _HEIGHT = 640, 250  # units of the viewBox; the page scales it
_LABELS = 6  # dates below the chart; more would run into one another on a phone
_STEPS = 4  # guides above zero
_SLOTS = 8  # bars have room at least; a single one would fill the chart
_LINK = "{http://www.w3.org/1999/xlink}href"
# What the library adds for its own script and style sheet, neither of which is used here.
_DROPPED = ("style", "script", "defs", "title")
_DROPPED_CLASSES = frozenset({"background", "titles", "text-overlay", "tooltip-overlay"})
# Each drawing takes a namespace out of a table of the whole process and puts it back; two that do so at once break.
_DRAWING = threading.Lock()
_LAYOUT = Style(label_font_size=13, major_label_font_size=13)  # room for the labels; the page's style sheet draws them

Unit = Literal["count", "share", "score", "money"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One colour of a chart: a figure for each label; None where there is none."""

    name: str
    values: tuple[float | None, ...]
    tone: str  # class of the style sheet: good, warn, bad, worst, mute, or 1 to 6 where colours mean nothing
    links: tuple[str | None, ...] = ()  # where each figure leads


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """What is drawn, and said again as a table."""

    id: str
    title: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    unit: Unit = "count"
    kind: Literal["bars", "lines"] = "bars"  # bars are stacked
    says: str = ""  # one sentence: what the chart shows, for those who do not see it
    links: tuple[str | None, ...] = field(default=())  # where each label leads

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to draw."""
        values = [value for series in self.series for value in series.values if value is not None]
        return not (any(values) if self.kind == "bars" else values)

    @property
    def svg(self) -> Markup:
        """Return the drawing."""
        return draw(self)

    @property
    def rows(self) -> list[tuple[str, str | None, list[tuple[str, str | None]]]]:
        """Return the table: for each label its link, and each figure as people read it with its link."""
        show = formatter(self.unit)
        return [
            (
                label,
                _at(self.links, number),
                [
                    ("–" if value is None else show(value), _at(series.links, number) if value else None)
                    for series in self.series
                    for value in (series.values[number],)
                ],
            )
            for number, label in enumerate(self.labels)
        ]


def formatter(unit: Unit) -> Callable[[float], str]:
    """Return how figures of a unit are written."""
    return {
        "count": lambda value: f"{value:,.0f}",
        "share": lambda value: f"{value:.0%}",
        "score": lambda value: f"{value:.2f}",
        "money": lambda value: f"{value:,.2f}" if value >= 0.01 or not value else f"{value:.2g}",
    }[unit]


def draw(chart: Chart) -> Markup:
    """Draw a chart; it holds no script, no style and nothing that is focused, and every text of it is escaped.

    A chart of 60 nights takes some 0.2 s of CPU, so that pages with charts are rendered in a thread.
    """
    with _DRAWING:
        made = _made(chart)
        return Markup(made.render(is_unicode=True))  # every text was escaped as the tree was written


def _made(chart: Chart) -> Any:
    made = _kind(chart)(
        css=[],
        js=[],
        no_prefix=True,
        disable_xml_declaration=True,
        show_legend=False,
        width=_WIDTH,
        height=_HEIGHT,
        margin=8,
        margin_right=22,
        dots_size=4 if len(chart.labels) <= _SLOTS else 3,
        spacing=8,
        style=_LAYOUT,
        formatter=formatter(chart.unit),
        allow_interruptions=True,
        show_minor_x_labels=False,
        truncate_label=-1,
    )
    empty = max(0, _SLOTS - len(chart.labels)) if chart.kind == "bars" else 0
    made.x_labels = [*chart.labels, *[""] * empty]
    made.x_labels_major_every = max(1, math.ceil(len(chart.labels) / _LABELS))
    ticks = _ticks(chart)
    show = formatter(chart.unit)
    made.y_labels = [{"value": tick, "label": show(tick)} for tick in ticks]
    made.range = (0, ticks[-1])
    for series in chart.series:
        made.add(None, [_point(chart, series, number) for number in range(len(chart.labels))])
    tones = [series.tone for series in chart.series]
    made.add_xml_filter(lambda root: _bare(root, tones))
    return made


def _kind(chart: Chart) -> Any:
    return pygal.StackedBar if chart.kind == "bars" else pygal.Line


def _point(chart: Chart, series: Series, number: int) -> dict[str, Any] | None:
    value = series.values[number]
    if value is None or (chart.kind == "bars" and not value):
        return None
    point: dict[str, Any] = {
        "value": value,
        "label": visible(f"{chart.labels[number]}, {series.name}: {formatter(chart.unit)(value)}"),
    }
    link = _at(series.links, number)
    return point | {"xlink": {"href": link}} if link else point


def _at(links: Sequence[str | None], number: int) -> str | None:
    return links[number] if number < len(links) else None


def _ticks(chart: Chart) -> list[float]:
    """Choose round values for the guides, from zero to above the highest figure."""
    if chart.unit in ("share", "score"):
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    columns = list(zip(*([value or 0.0 for value in series.values] for series in chart.series), strict=True))
    highest = max((sum(column) if chart.kind == "bars" else max(column) for column in columns), default=0.0)
    least = 1.0 if chart.unit == "count" else 1e-6
    raw = max(highest / _STEPS, least)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(round(nice * magnitude, 9) for nice in (1, 2, 5, 10) if nice * magnitude >= raw - 1e-9)
    return [round(step * number, 9) for number in range(max(1, math.ceil(round(highest / step, 6))) + 1)]


def _bare(root: Any, tones: Sequence[str]) -> Any:
    """Leave the drawing itself: tones instead of colour numbers, tooltips of the browser, no focusable links."""
    _strip(root, tones)
    root.attrib.pop("id", None)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    return root


def _strip(element: Any, tones: Sequence[str]) -> None:
    for child in list(element):
        if not isinstance(child.tag, str) or _is_dropped(child):
            element.remove(child)
            continue
        _strip(child, tones)
        if child.tag == "g" and not any(grown.tag != "title" for grown in child):
            element.remove(child)  # a figure of nothing: no bar, no point
    _rename(element, tones)


def _is_dropped(element: Any) -> bool:
    classes = element.get("class", "").split()
    if element.tag == "desc":
        return "label" not in classes
    is_nothing = element.tag == "rect" and float(element.get("height", "1")) == 0
    return element.tag in _DROPPED or bool(_DROPPED_CLASSES.intersection(classes)) or is_nothing


def _rename(element: Any, tones: Sequence[str]) -> None:
    if element.tag == "desc":
        element.tag = "title"
        element.attrib.pop("class", None)
    elif element.tag == "a":
        element.set("href", element.attrib.pop(_LINK))
        element.attrib.pop("target", None)
        element.set("tabindex", "-1")  # the table beside it has the same links
    element.attrib.pop("style", None)
    classes = element.get("class", "").split()
    for number, tone in enumerate(tones):
        if f"color-{number}" in classes:
            element.set("class", f"series tone-{tone}")
