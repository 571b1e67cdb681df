"""The trace page: everything a decision needs, without scripts; and the decision."""

import asyncio
import re
from html import unescape

import pytest

from enricher.serve.deciding import state_of
from enricher.settings import PhoenixConnection, Regress, Settings
from enricher.store import QueueFilter, RefState, ReviewState, Settlement
from enricher.trace import Rejection, RejectReason, TraceId, TraceRef
from enricher.verdict import DeliveryState
from tests.serve.conftest import READ_TOKEN, TOKEN, served
from tests.serve.samples import settle_everything

PHOENIX = Settings(connections={"phoenix": PhoenixConnection(kind="phoenix", base_url="http://127.0.0.1:6006")})


@pytest.fixture
async def review(store):
    """Settle a trace with one of everything; give the id of the question about its diff."""
    return await settle_everything(store)


async def question(store, review):
    (found,) = await store.question_like(review)
    return found


async def decided(store):
    found = await store.questions(QueueFilter(state=ReviewState.DECIDED))
    return [decision for one in found for decision in one.decisions]


def plain(text):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", text)))


async def test_the_page_shows_what_a_decision_needs(store, review):
    async with served(store, settings=PHOENIX) as browser:
        text = (await browser.get(f"/review/{review}", follow_redirects=True)).text
    told = plain(text)
    for part in (
        "How much notice?", "Notice is 90 days.✗ contradicted", "Fees are refunded.✓ supported", "Refunds take a week.",
        "The answer says", "Notice is sixty (60) days.", "2025-03-01", "Left out", "Interest is 2%.", "confirmed",
        "disputed",
        "Second check differs", "no document says a week", "Reported by kim", "It was 60 days!", "not used", "gpt-x",
        "diff/openai/diff@v2/m-1", "1 raw reply", "needs_review", "Asked because", "3 of 4 to look at",
        "chance that it is supported: 12 %",
    ):  # fmt: skip
        assert part in told, part
    assert 'href="http://127.0.0.1:6006/redirects/spans/span-t1"' in text
    assert "call it: supported 12 %, partial 10 %, unsupported 28 %, contradicted 50 %" in text


async def test_choosing_a_statement_marks_its_verified_passage_without_scripts(store, review):
    async with served(store) as browser:
        address = (await browser.get(f"/review/{review}")).headers["location"]
        plain_page = (await browser.get(address)).text
        link = re.search(r'<a class="seg seg-contradicted" href="([^"]+)"', plain_page)[1]
        assert unescape(link).endswith("&statement=s1#passage")
        chosen = (await browser.get(unescape(link))).text
    assert 'id="passage"' not in plain_page
    assert re.findall(r'<mark class="([^"]+)" data-for="s1" id="passage" tabindex="-1">([^<]+)<', chosen) == [
        ("ev ev-contradicted chosen", "Notice is sixty (60) days.")
    ]
    assert '<a class="seg seg-contradicted chosen"' in chosen


async def test_source_conflicts_stand_side_by_side_with_dates(store, review):
    async with served(store) as browser:
        text = (await browser.get("/trace/t1")).text
        tab = re.search(r'<a href="([^"]+)"[^>]*><span class="judge">consistency', text)[1]
        told = plain((await browser.get(unescape(tab))).text)
    for part in ("how long the notice is", "2019", "2025-03-01", "contradicts", "supports", "Ask which one holds."):
        assert part in told, part


async def test_a_failed_judgement_is_a_failure_and_no_low_score(store, review):
    async with served(store) as browser:
        text = (await browser.get("/trace/t1")).text
        tab = re.search(
            r'<a href="([^"]+)"[^>]*><span class="judge">halves</span> <span class="st st-failed">([^<]+)', text
        )
        assert tab[2] == "judge truncated"
        failed = (await browser.get(unescape(tab[1]))).text
    assert "The reply was cut." in failed
    assert 'class="score"' not in failed.split('id="verdict-title"')[1].split("</h2>")[0]


async def test_raw_replies_are_shown_on_demand_and_escaped(store, review):
    evaluation = (await question(store, review)).evaluation.id
    async with served(store) as browser:
        part = (await browser.get(f"/replies/{evaluation}", headers={"hx-request": "true"})).text
        whole = (await browser.get(f"/replies/{evaluation}")).text
        assert "None is kept" in (await browser.get("/replies/nothing")).text
    assert "&lt;b&gt;raw&lt;/b&gt; of diff" in part
    assert "<html" not in part
    assert "<html" in whole


async def test_whole_texts_are_given_as_text(store, review):
    evaluation = (await question(store, review)).evaluation.id
    async with served(store) as browser:
        answer = await browser.get(f"/text/{evaluation}/0")
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("Notice is sixty")
        assert (await browser.get(f"/text/{evaluation}/answer")).text.startswith("Notice is 90")
        for part in ("9", "x", "-1"):
            assert (await browser.get(f"/text/{evaluation}/{part}")).status_code == 404


async def test_a_decision_is_recorded_queued_for_the_platform_and_sent(store, review):
    sent = asyncio.Event()

    async def deliver(connection):
        assert connection == "phoenix"
        sent.set()

    async with served(store, deliver=deliver) as browser:
        fields = {
            "outcome": "correct",
            "set.s1": "PARTIALLY_SUPPORTED",
            "set.s3": "",
            "comment": "60, not 90",
            "then": "stay",
        }
        fields["seen"] = state_of(await question(store, review))
        answer = await browser.post(f"/review/{review}", fields, of="/queue")
        assert answer.status_code == 303, answer.text
        await asyncio.wait_for(sent.wait(), 10)
        page = plain((await browser.get(answer.headers["location"])).text)
    (decision,) = await decided(store)
    assert (decision.outcome, decision.label, decision.labels) == (
        "correct",
        "unsupported",
        {"s1": "PARTIALLY_SUPPORTED"},
    )
    assert "Corrected: unsupported" in page
    assert "60, not 90" in page
    outbox = (await store.explain("t1")).outbox
    (human,) = [entry.annotation for entry in outbox if entry.annotation.annotator_kind == "HUMAN"]
    assert (human.name, human.label) == ("context_diff", "unsupported")
    assert "60, not 90" in human.explanation
    assert all(entry.state is DeliveryState.PENDING for entry in outbox)


async def test_after_a_decision_the_next_free_item_is_taken(store, review):
    async with served(store) as browser:
        fields = {"outcome": "confirm", "then": "next", "back": "/queue?judge=consistency"}
        fields["seen"] = state_of(await question(store, review))
        answer = await browser.post(f"/review/{review}", fields, of="/queue")
        following = answer.headers["location"]
        assert following.startswith("/review/")
        assert following.endswith("?back=%2Fqueue%3Fjudge%3Dconsistency")
        text = (await browser.get(following, follow_redirects=True)).text
        assert "yours" in text
        assert 'href="/queue?judge=consistency"' in text
        fields |= {"back": "/queue?judge=diff"}
        fields["seen"] = state_of(await question(store, following[8:].split("?")[0]))
        end = await browser.post(following.split("?")[0], fields, of="/queue")
        assert end.headers["location"] == "/queue?judge=diff"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Choose first"),
        ({"outcome": "maybe"}, "Choose first"),
        ({"outcome": "correct"}, "needs the right label"),
        ({"outcome": "correct", "label": "fine"}, "is not known"),
        ({"outcome": "correct", "set.s9": "UNSUPPORTED"}, "the statements are s1"),
    ],
)
async def test_what_can_not_be_decided_keeps_what_was_typed(store, review, fields, sentence):
    async with served(store) as browser:
        fields = {**fields, "comment": "my thoughts", "seen": state_of(await question(store, review))}
        answer = await browser.post(f"/review/{review}", fields, of="/queue")
    assert answer.status_code == 422
    assert sentence in plain(answer.text)
    assert "my thoughts</textarea>" in answer.text
    assert await decided(store) == []


async def test_two_people_who_look_at_once_do_not_decide_unknowingly(store, review):
    async with served(store, token=TOKEN) as ada, served(store, token=TOKEN) as bob:
        await ada.sign_in(person="ada")
        await bob.sign_in(person="bob")
        seen = state_of(await question(store, review))
        taken = await ada.post(f"/review/{review}/take", of="/queue", headers={"hx-request": "true"})
        assert "yours" in taken.text
        assert "<html" not in taken.text
        refused = await bob.post(f"/review/{review}/take", of="/queue", headers={"hx-request": "true"})
        assert "<strong>ada</strong> is at this item" in refused.text
        early = await bob.post(f"/review/{review}", {"outcome": "reject", "seen": seen}, of="/queue")
        assert early.status_code == 409
        assert "ada is at this item" in plain(early.text)
        assert (
            await ada.post(f"/review/{review}", {"outcome": "confirm", "seen": seen}, of="/queue")
        ).status_code == 303
        late = await bob.post(f"/review/{review}", {"outcome": "reject", "seen": seen, "comment": "no"}, of="/queue")
        assert late.status_code == 409
        assert "ada decided this item meanwhile: confirm, contradicted." in plain(late.text)
        again = re.search(r'name="seen" value="([^"]+)"', late.text)[1]
        assert (
            await bob.post(f"/review/{review}", {"outcome": "reject", "seen": again}, of="/queue")
        ).status_code == 303
    assert sorted((d.person, d.outcome) for d in await decided(store)) == [("ada", "confirm"), ("bob", "reject")]


async def test_taking_and_giving_back_works_without_scripts(store, review):
    async with served(store) as browser:
        for action, word in (("take", "yours"), ("free", "Nobody is at this item.")):
            answer = await browser.post(f"/review/{review}/{action}", {"back": "/queue"}, of="/queue")
            assert word in (await browser.get(answer.headers["location"])).text


async def test_programs_read_what_is_recorded_about_a_trace_as_json(store, review):
    async with served(store) as browser:
        told = (await browser.get("/trace/t1?format=json")).json()
    assert told["trace_id"] == "t1"
    assert sorted(one["verdict"]["provenance"]["judge"] for one in told["evaluations"]) == [
        "consistency",
        "diff",
        "halves",
    ]


async def test_a_trace_is_found_by_the_beginning_of_its_id(store):
    await settle_everything(store, "abc123")
    async with served(store) as browser:
        assert (await browser.get("/trace/abc")).headers["location"] == "/trace/abc123"
        assert (await browser.get("/trace/zzz")).status_code == 404
        assert (await browser.get("/review/zzz")).status_code == 404


async def test_a_trace_id_may_hold_anything(store):
    trace_id = "exports/a b?c#d%2F"
    await settle_everything(store, trace_id)
    async with served(store) as browser:
        listed = (await browser.get("/queue")).text
        link = unescape(re.search(r'class="ask" href="([^"]+)"', listed)[1])
        answer = await browser.get(link, follow_redirects=True)
    assert answer.status_code == 200
    assert "How much notice?" in answer.text


async def test_a_rejected_trace_tells_why_it_was_not_judged(store):
    run = await store.start_run("nightly")
    rejection = Rejection(
        trace_id=TraceId("r1"), reason=RejectReason.EMPTY_RETRIEVAL, detail="The retriever found nothing."
    )
    ref = TraceRef(connection="phoenix", project="shop", trace_id=TraceId("r1"))
    await store.take_in("nightly", [ref])
    await store.settle(Settlement(run_id=run, job="nightly", ref=ref, rejections=(rejection,), state=RefState.DONE))
    async with served(store) as browser:
        told = plain((await browser.get("/trace/r1")).text)
    assert "Not judged: empty retrieval. The retriever found nothing." in told


async def test_readers_see_no_form(store, review):
    async with served(store, token=TOKEN, read_token=READ_TOKEN) as browser:
        await browser.sign_in(READ_TOKEN)
        text = (await browser.get("/trace/t1")).text
        assert 'id="decide"' not in text
        assert "<select" not in text
        assert (await browser.post(f"/review/{review}", {"outcome": "confirm"}, of="/queue")).status_code == 403
    assert await decided(store) == []


async def test_one_click_puts_a_decided_item_into_the_golden_set(store, review, tmp_path):
    golden = tmp_path / "golden.jsonl"
    settings = PHOENIX.model_copy(update={"regress": Regress(golden=golden)})
    async with served(store, settings=settings) as browser:
        undecided = await browser.post(f"/review/{review}/golden", of="/queue")
        assert "Not put into the golden set" in plain((await browser.get(undecided.headers["location"])).text)
        fields = {"outcome": "confirm", "seen": state_of(await question(store, review)), "then": "stay"}
        page = await browser.get((await browser.post(f"/review/{review}", fields, of="/queue")).headers["location"])
        assert "Add to the golden set" in page.text
        for said in ("Added to golden.jsonl.", "Already in golden.jsonl."):
            kept = await browser.post(f"/review/{review}/golden", of="/queue")
            assert said in plain((await browser.get(kept.headers["location"])).text)
    assert len(golden.read_text(encoding="utf-8").splitlines()) == 1
