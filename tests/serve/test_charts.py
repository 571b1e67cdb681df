"""Charts: plain drawings without script or style, every text escaped, and a table that says the same."""

import re
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

from enricher.serve.charts import Chart, Series, draw

DAYS = ("Nov 1", "Nov 2", "Nov 3")


def chart(*series, **more):
    return Chart(**{"id": "c", "title": "Findings", "labels": DAYS, "series": series, **more})


def one(*values, name="added", tone="bad", links=()):
    return Series(name=name, values=values, tone=tone, links=links)


def parsed(drawn):
    return ElementTree.fromstring(drawn.svg.replace("xlink:", ""))


def tags(drawn):
    return {element.tag.rpartition("}")[2] for element in parsed(drawn).iter()}


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_a_drawing_holds_no_script_style_or_comment_and_is_hidden_from_screen_readers(kind):
    drawn = chart(one(1, 2, 3), kind=kind)
    assert tags(drawn) <= {"svg", "g", "path", "rect", "circle", "text", "title", "a"}
    assert "style=" not in drawn.svg
    assert "<!--" not in drawn.svg
    assert parsed(drawn).get("aria-hidden") == "true"


def test_every_text_is_escaped_and_its_invisible_characters_are_named():
    hostile = "<script>x</script>\u202e\x07"
    drawn = chart(one(1, 2, 3, name=hostile), labels=("<b>", *DAYS[1:]))
    assert "<script>" not in drawn.svg
    assert "<b>" not in drawn.svg
    assert "&lt;script&gt;x&lt;/script&gt;⟦U+202E⟧⟦U+0007⟧: 1" in drawn.svg


def test_bars_are_as_tall_as_their_figures_and_nothing_has_no_bar():
    drawn = chart(one(1, None, 3), one(2, 0, None, name="contradicted", tone="worst"))
    heights = {
        group.get("class"): [float(bar.get("height")) for bar in group.iter("{http://www.w3.org/2000/svg}rect")]
        for group in parsed(drawn).iter("{http://www.w3.org/2000/svg}g")
        if group.get("class", "").startswith("series")
    }
    low, high = heights["series tone-bad"]
    assert high == pytest.approx(3 * low)
    assert heights["series tone-worst"] == [pytest.approx(2 * low)]


def test_a_figure_leads_to_what_is_behind_it_but_is_focused_in_the_table_only():
    drawn = chart(one(1, 2, 0, links=("/a?x=1&y=<", "/b", "/c")))
    assert re.findall(r'<a href="([^"]+)" tabindex="-1">', drawn.svg) == ["/a?x=1&amp;y=&lt;", "/b"]
    assert [cells for _, _, cells in drawn.rows] == [[("1", "/a?x=1&y=<")], [("2", "/b")], [("0", None)]]


def test_a_line_is_broken_where_there_is_no_figure():
    drawn = chart(one(0.5, None, 0.7, name="score", tone="1"), kind="lines", unit="score")
    assert drawn.svg.count("<circle") == 2
    assert [cells[0][0] for _, _, cells in drawn.rows] == ["0.50", "–", "0.70"]


@pytest.mark.parametrize(
    ("values", "unit", "ticks"),
    [
        ((1, 0, 2), "count", ["0", "1", "2"]),
        ((130, 7, 9), "count", ["0", "50", "100", "150"]),
        ((0.0035, 0, 0), "money", ["0.00", "0.001", "0.002", "0.003", "0.004"]),
        ((0.2, 0.3, 1), "share", ["0%", "25%", "50%", "75%", "100%"]),
    ],
)
def test_guides_stand_at_round_values(values, unit, ticks):
    shown = re.findall(r'<text x="-5"[^>]*>([^<]+)</text>', chart(one(*values), unit=unit).svg)
    assert shown == ticks


def test_empty_is_what_has_no_bar_or_no_point():
    assert chart(one(0, None, 0)).is_empty
    assert not chart(one(0, None, 0), kind="lines").is_empty
    assert chart(one(None, None, None), kind="lines").is_empty


def test_many_nights_name_some_of_their_days_only():
    drawn = chart(one(*range(90)), labels=tuple(f"day {n}" for n in range(90)))
    assert len(re.findall(r'<text [^>]*class="major">day', draw(drawn))) == 6
    assert len(drawn.rows) == 90


def test_drawings_of_several_threads_are_the_same_as_of_one():
    drawn = [chart(one(*range(1, 4), links=("/a", "/b", "/c"), name=f"kind {n}")) for n in range(24)]
    alone = [str(each.svg) for each in drawn]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda each: str(each.svg), drawn)) == alone
