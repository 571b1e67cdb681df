"""Texts of traces are hostile: markup stays text, hidden characters are shown, huge and binary ones do no harm."""

import re
from html.parser import HTMLParser

import pytest
from markupsafe import escape

from enricher.serve.showing import environment, visible
from enricher.trace import Document, UserReport
from enricher.verdict import Claim, ClaimVerdict, FaithfulnessResult, Quote, QuoteCheck
from tests.serve.conftest import served
from tests.serve.samples import evaluation, item, settle, verdict

SCRIPT = "<script>alert(1)</script>"
MARKUP = "\"'><img src=x onerror=alert(1)><style>*{display:none}</style></textarea></title><a href=javascript:alert(1)>"
BIDI = "pay \u202e000,01\u202c now\u200b"
BINARY = "".join(map(chr, range(32))) + "\x7f\x9b\ufffe" + bytes(range(128, 256)).decode("latin-1")
TEMPLATE = "{{ 7*7 }}{% raw %}${7*7}"


class Tags(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


async def pages_with(store, text):
    """Judge a trace in which every field holds the text; return each page that shows it."""
    passage = Quote(document_id=text, text=text, start=0, end=len(text), check=QuoteCheck.VERIFIED)
    claim = Claim(
        claim_id="c1", text=text, verdict=ClaimVerdict.CONTRADICTED, evidence=(passage,), explanation=text, start=0,
        end=len(text), flags=(text[:50],),
    )  # fmt: skip
    asked = item(
        "t1", question=text, answer=text, documents=(Document(id=text, text=text, metadata={"version": text[:80]}),),
        history=(text,), metadata={text[:50]: text},
    )  # fmt: skip
    found = verdict(
        "t1",
        "faithfulness",
        FaithfulnessResult(claims=(claim,)).with_parts((claim,)),
        raw_replies=(text,),
        flags=(text,),
    )
    report = UserReport(name=text, label=text, comment=text, author=text)
    await settle(store, "t1", evaluation(found, asked, text[:50]), project=text[:200], reports=[report])
    async with served(store) as browser:
        listed = (await browser.get("/queue")).text
        trace = (await browser.get("/trace/t1?statement=c1")).text
        (evaluation_id,) = set(re.findall(r"/replies/(\w+)", trace))
        replies = (await browser.get(f"/replies/{evaluation_id}")).text
        missing = (await browser.get("/trace/" + "%3Cscript%3E")).text
        filtered = (await browser.get("/queue", params={"trace": text[:80], "judge": text[:80]})).text
    return {"queue": listed, "trace": trace, "replies": replies, "missing": missing, "filtered": filtered}


@pytest.mark.parametrize("text", [SCRIPT, MARKUP, TEMPLATE], ids=["script", "markup", "template"])
async def test_markup_stays_text_on_every_page(store, text):
    for name, page in (await pages_with(store, text)).items():
        found = Tags(page)
        assert not {"style", "iframe", "object", "embed"} & set(found.tags), name
        assert {value.partition("?")[0] for key, value in found.attributes if key == "src"} <= {
            "/static/htmx.min.js", "/static/enricher.js", "/static/queue.js", "/static/trace.js", "/static/icon.svg",
        }, name  # fmt: skip
        assert not [key for key, _ in found.attributes if key.startswith("on") or key == "style"], name
        links = {value for key, value in found.attributes if key in ("href", "action")}
        assert not [link for link in links if not re.match(r"[/#]|http://127.0.0.1:6006/redirects/", link)], name
        if name in ("queue", "trace", "replies"):
            assert str(escape(text)) in page, name


async def test_characters_that_hide_or_turn_text_are_shown(store):
    for name, page in (await pages_with(store, BIDI)).items():
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b]", page), name
        if name in ("queue", "trace", "replies"):
            assert "pay ⟦U+202E⟧000,01⟦U+202C⟧ now⟦U+200B⟧" in page, name


async def test_binary_text_is_shown_as_text(store):
    for name, page in (await pages_with(store, BINARY)).items():
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page), name


async def test_huge_texts_are_cut_on_the_page_and_whole_on_their_own(store):
    text = "z" * 3_000_000 + "the end"
    pages = await pages_with(store, text[:200] + text)
    assert len(pages["queue"]) < 100_000
    passage = Quote(document_id="d", text="the end", start=3_000_000, end=3_000_007, check=QuoteCheck.VERIFIED)
    claim = Claim(claim_id="c1", text="x", verdict=ClaimVerdict.SUPPORTED, evidence=(passage,), start=0, end=5)
    asked = item("t2", question="?", answer=text, documents=(Document(id="d", text=text),))
    found = verdict("t2", "faithfulness", FaithfulnessResult(claims=(claim,)).with_parts((claim,)), raw_replies=(text,))
    await settle(store, "t2", evaluation(found, asked, "policy"))
    async with served(store) as browser:
        page = (await browser.get("/trace/t2?statement=c1")).text
        assert len(page) < 100_000
        assert re.search(r'id="passage" tabindex="-1">the end</mark>', page)
        assert "characters are left out here" in page
        whole = re.search(r'href="(/text/\w+/0)"', page)[1]
        assert (await browser.get(whole)).text == text


def test_whatever_a_template_prints_is_escaped_and_visible():
    made = environment().from_string('<a title="{{ value }}">{{ value }}</a>')
    assert made.render(value='"<\u202e') == '<a title="&#34;&lt;⟦U+202E⟧">&#34;&lt;⟦U+202E⟧</a>'
    assert visible("déjà\tvu\n日本 👩‍👩‍👧") == "déjà\tvu\n日本 👩‍👩‍👧"


def test_no_template_switches_escaping_off():
    loader = environment().loader
    for name in loader.list_templates():
        source, _, _ = loader.get_source(None, name)
        assert not re.search(r"\|\s*safe|autoescape\s+false|Markup", source), name
