"""The report as page, text and JSON: complete, and safe whatever the traces hold."""

import io
import json
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from enricher.report import Alert, Disagreement
from enricher.reporting.nouns import to_json
from enricher.reporting.page import as_html
from enricher.reporting.text import as_text
from enricher.trace import UserReport
from tests.reporting.samples import DOWN, Case, night, report_of

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufeff]")
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }} {% include 'x' %}",
    "</style><style>*{display:none}</style>",
    "javascript:alert(1)",
    "<!-- <table> --> ]]> &lt;b&gt;",
    "\u202egnp.exe\u202c \u2066\u200b\ufeff",
    "\x00\x07\x1b[31mred\x1b]8;;http://evil\x07",
    "lone \ud800 surrogate",
    "x" * 50_000,
]
_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "table", "thead", "tbody", "tr", "th", "td", "div", "p", "br"),
    *("h1", "h2", "h3", "ul", "li", "span", "strong", "a"),
}
_ATTRIBUTES = {
    *("lang", "charset", "name", "content", "class", "style", "dir", "role", "align", "width", "scope", "href"),
    "data-css-inline",
}


class Tags(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def printed(report):
    """What a terminal without colours is sent."""
    sink = io.StringIO()
    Console(width=160, file=sink).print(as_text(report))
    return sink.getvalue()


async def everything(store, clock, text):
    """A report with one text wherever a trace, a user or a model can put one."""
    down = UserReport(name=text[:60], label=text[:60], score=0.0, comment=text)
    given = {"answer": text, "question": text, "passage": text, "reports": (down,), "fix_note": text}
    await night(store, clock, Case(trace="t0"))
    return await report_of(
        store,
        clock,
        Case(trace="t1", status="CONTRADICTED", axes=(0, 0, 1), document=text[:60],
             metadata={"model": text[:60]}, segment={"explanation": text}, **given),
        Case(trace="t2", status="UNSUPPORTED", segment={"explanation": text}, metadata={"model": "m"}, **given),
        rejected=1,
        warnings=(text,),
        problems=(text,),
        alerts=(Alert(rule="failed", value=0.5, threshold=0.1, items=20, sentence=text, is_new=True),),
        disagreements=(
            Disagreement(trace_id="t1", judge="diff", statement=text, standing="contradicted", certainty="disputed",
                         second_by="local", second_standing="supported", evidence=text),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_text_stays_text(store, clock, text):
    report = await everything(store, clock, text)
    page = as_html(report)
    found = Tags(page)
    assert found.tags <= _TAGS
    assert {name for name, _ in found.attributes} <= _ATTRIBUTES
    links = [value for name, value in found.attributes if name == "href"]
    assert links
    assert all(link.startswith("http://phoenix.test:6006/") for link in links)
    page.encode("utf-8")
    assert not _UNSEEN.search(page)
    assert not _UNSEEN.search(printed(report))
    assert len(page) < 150_000
    twin = json.loads(json.dumps(to_json(report)))
    if text.isprintable():
        assert twin["ranked"][0]["statements"][0]["text"] == text


async def test_the_page_stands_alone_and_says_everything_without_pictures_or_scripts(store, clock):
    for number in range(3):
        await night(store, clock, Case(trace=f"b{number}"))
    wrong = Case(trace="t1", status="CONTRADICTED", axes=(2, 0, 2), fix_note="Copy values.", reports=(DOWN,))
    page = as_html(await report_of(store, clock, wrong, Case(trace="t2"), rejected=1))
    assert page.startswith("<!DOCTYPE html>")
    found = Tags(page)
    assert not {"script", "img", "link", "svg", "iframe", "form"} & found.tags
    assert "url(" not in page
    assert "@import" not in page
    # Styles stand on the elements; only the dark theme and narrow screens are left to the style sheet.
    assert len(re.findall("<style", page)) == 1
    assert "prefers-color-scheme: dark" in page
    text = " ".join(" ".join(found.text).split())
    for said in ("1 of 2 answers leaves its context", "What changed", "Refunds are paid within 30 days.", "policy",
                 "Copy values.", "wrong period", "empty_retrieval", "it found nothing", "generation failed",
                 "1 of 1 reported trace has a finding"):  # fmt: skip
        assert said in text, said


async def test_the_text_says_what_the_page_says(store, clock):
    wrong = Case(trace="t1", status="CONTRADICTED", axes=(2, 0, 2), fix_note="Copy values.", reports=(DOWN,))
    text = printed(await report_of(store, clock, wrong, Case(trace="t2"), rejected=1))
    for said in ("1 of 2 answers leaves its context", "contradicted “Refunds are paid within 90 days.”",
                 "policy: “Refunds are paid within 30 days.”", "next: Copy values.", "empty_retrieval",
                 "1 of 1 reported trace has a finding (100%), 0 of 1 others (0%)"):  # fmt: skip
        assert said in text, said


async def test_a_large_report_fits_into_a_mail(store, clock):
    for number in range(14):
        await night(store, clock, Case(trace=f"b{number}", cost=0.01))
    many = [
        Case(trace=f"{number:032x}", status="CONTRADICTED", answer=f"Answer {number}. " * 15, axes=(1, 0, 1),
             passage=f"Passage {number}. " * 15, document=f"doc-{number}", fix_note=f"Do {number}. " * 10)
        for number in range(60)
    ]  # fmt: skip
    report = await report_of(store, clock, *many, rejected=2)
    assert len(as_html(report).encode()) < 102_000  # Gmail cuts what is larger
    assert len(report.ranked) == 50
