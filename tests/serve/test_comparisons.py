"""The pages of comparisons: what was counted, and every pair with both answers and what speaks for either."""

import json

import pytest

from enricher.comparing import CompareRequest, compare
from enricher.progress import Silent
from enricher.serve.comparisons import marked
from enricher.settings import Settings
from enricher.verdict import Hallucination, Severity
from tests.serve.conftest import served
from tests.serve.seeded import HOSTILE, pair
from tests.servers.openai import OpenAIServer, Say

TRUE = "The notice period is sixty (60) days."
FALSE = "The notice period is 90 days. A manager in Lisbon approves every request."


@pytest.fixture
async def site(store):
    async with served(store) as visited:
        yield visited


@pytest.fixture
def compared(tmp_path):
    """Give what compares pairs as the command does, over the store of the pages."""

    async def work(*records, gate=None, name="pairs.jsonl", **config):
        file = tmp_path / name
        file.write_text("".join(json.dumps(one) + "\n" for one in records))
        settings = Settings.model_validate({"store": f"sqlite:///{tmp_path / 'store.db'}", **config})
        return await compare(settings, CompareRequest(file=file, gate=gate), Silent())

    return work


FOUR = (pair("lost", TRUE, FALSE), pair("won", FALSE, TRUE), pair("same", TRUE, TRUE), pair("lost-2", TRUE, FALSE))


async def latest(site):
    return (await site.get("/comparisons?format=json")).json()["comparisons"][0]


async def test_without_a_comparison_the_page_says_how_to_make_one(site):
    page = (await site.get("/comparisons")).text
    assert "No comparison yet" in page
    assert "enricher compare" in page


async def test_the_list_tells_how_every_challenger_fared_and_its_gate(site, compared):
    await compared(*FOUR, gate="challenger_losses <= 0.1")
    await compared(*FOUR)
    page = (await site.get("/comparisons")).text
    assert page.count("1 won, 1 tied, 2 lost") == 2
    assert page.count(">breached<") == 1
    found = (await site.get("/comparisons?format=json")).json()["comparisons"]
    assert [one["figures"]["recalled"] for one in found] == [4, 0]
    assert [one["figures"]["gate_passed"] for one in found] == [None, False]


async def test_a_comparison_shows_figures_gate_dimensions_pairs_and_what_was_not_compared(site, compared):
    other = pair("other", TRUE, TRUE, documents_b=[{"text": "Something else."}])
    await compared(*FOUR, other, gate="challenger_losses <= 0.1 and new_critical == 0")
    one = await latest(site)
    page = (await site.get(f"/comparisons/{one['id']}")).text
    assert "gate breached" in page
    assert "source conflict handling" in page
    assert "50%" in page  # two of four were lost
    assert "contexts differ" in page.partition("Not compared")[2]
    assert "the challenger&#39;s answer says &#39;The notice period is 90 days.&#39;" in page
    assert 'style="' not in page


async def test_pairs_are_narrowed_down_by_outcome(site, compared):
    await compared(*FOUR)
    one = await latest(site)

    async def names(query):
        found = (await site.get(f"/comparisons/{one['id']}?format=json{query}")).json()
        return [row["pair_id"] for row in found["pairs"]], found["matching"]

    assert await names("") == (["lost", "won", "same", "lost-2"], 4)
    assert await names("&outcome=loss") == (["lost", "lost-2"], 2)
    assert await names("&people=1") == ([], 0)
    assert await names("&offset=3") == (["lost-2"], 4)
    page = (await site.get(f"/comparisons/{one['id']}?outcome=nosuch")).text
    assert "No pair of this comparison is like that" in page


async def test_a_pair_shows_both_answers_with_what_is_held_against_each(site, compared):
    await compared(*FOUR)
    one = await latest(site)
    rows = (await site.get(f"/comparisons/{one['id']}?format=json")).json()["pairs"]
    address = f"/comparisons/{one['id']}/pairs/{rows[0]['record_id']}"
    page = (await site.get(address)).text
    marks = ('<mark class="CRITICAL"', '<mark class="MAJOR"')
    assert [page.count(mark) for mark in marks] == [1, 1]
    assert ">The notice period is 90 days.</mark>" in page
    assert "The notice period is sixty (60) days.</blockquote>" in page
    assert "citation accuracy" in page
    assert "accepted without a person" in page
    twin = (await site.get(f"{address}?format=json")).json()
    assert (twin["outcome"], twin["challenger_answer"]) == ("loss", FALSE)
    assert twin["verdict"]["preferred"] == "A"


async def test_a_pair_of_a_model_shows_what_it_said_and_why_people_are_asked(site, compared):
    async with OpenAIServer().running() as server:
        server.default = lambda _request: Say("<b>no JSON</b>")
        await compared(*FOUR[:1], engine="openai", openai={"base_url": server.url, "model": "judge-1"})
    one = await latest(site)
    (row,) = (await site.get(f"/comparisons/{one['id']}?people=1&format=json")).json()["pairs"]
    assert row["review"] == ["judge_failed:JUDGE_PARSE_ERROR"]
    page = (await site.get(f"/comparisons/{one['id']}/pairs/{row['record_id']}")).text
    assert "&lt;b&gt;no JSON&lt;/b&gt;" in page
    assert "the pair counts in no figure" in page


async def test_a_forgotten_trace_is_gone_from_its_comparison(site, store, compared):
    await compared(*FOUR)
    one = await latest(site)
    rows = (await site.get(f"/comparisons/{one['id']}?format=json")).json()["pairs"]
    await store.forget(rows[0]["champion_trace"])
    assert (await site.get(f"/comparisons/{one['id']}/pairs/{rows[0]['record_id']}")).status_code == 404
    page = (await site.get(f"/comparisons/{one['id']}")).text
    assert f">{rows[0]['pair_id']}</a>" not in page
    assert (await site.get("/comparisons/nosuch")).status_code == 404


async def test_hostile_answers_and_names_are_only_text(site, compared):
    odd = pair(f"<i>{HOSTILE}", HOSTILE + TRUE, FALSE + HOSTILE, question=HOSTILE)
    await compared(odd, name="<b>pairs.jsonl")
    one = await latest(site)
    (row,) = (await site.get(f"/comparisons/{one['id']}?format=json")).json()["pairs"]
    for path in ("/comparisons", f"/comparisons/{one['id']}", f"/comparisons/{one['id']}/pairs/{row['record_id']}"):
        page = (await site.get(path)).text
        assert "<script>alert" not in page
        assert "<b>pairs" not in page
        assert "<i>" not in page
        assert "\u202e" not in page


def flag(start, end, name="B1", severity=Severity.MAJOR):
    return Hallucination(flag_id=name, answer="B", claim="x", severity=severity, start=start, end=end)


def test_an_answer_is_cut_at_its_flags_and_nothing_is_lost():
    answer = "one two three"
    bits = marked(answer, [flag(8, 13, "B2"), flag(0, 3), flag(2, 5, "B3"), flag(None, None, "B4"), flag(9, 99, "B5")])
    assert "".join(bit.text for bit in bits) == answer
    assert [(bit.text, bit.flag_id) for bit in bits if bit.severity] == [("one", "B1"), ("three", "B2")]
