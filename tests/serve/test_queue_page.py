"""The queue page: filters and counts, pages, bulk actions, two people at once; all without scripts."""

import re
from datetime import timedelta

import pytest

from enricher.serve import queue as page
from enricher.settings import Job, Settings
from enricher.store import QueueFilter, ReviewState
from enricher.verdict import Status
from tests.serve.conftest import READ_TOKEN, TOKEN, served
from tests.serve.samples import diff, evaluation, item, settle, settle_everything, verdict

RISKY = Settings(jobs={"nightly": Job(risk_level="high"), "weekly": Job()})


async def fill(store, count, **parts):
    for number in range(count):
        trace_id = f"t{number}"
        asked = item(trace_id, question=f"Question {number}?")
        await settle(store, trace_id, evaluation(verdict(trace_id, "diff", diff()), asked, "contradicted"), **parts)


def asked(text):
    return re.findall(r'class="ask"[^>]*>([^<]*)<', text)


def ids(text):
    return re.findall(r'data-item="(\w+)"', text)


async def test_an_empty_queue_says_what_would_come_here(store):
    async with served(store) as browser:
        assert "Nothing is waiting for people" in (await browser.get("/queue")).text
        narrowed = (await browser.get("/queue?judge=diff&trace=abc")).text
    assert "Nothing matches" in narrowed
    assert 'href="/trace/abc"' in narrowed


async def test_each_item_shows_verdict_score_reasons_question_and_summary(store):
    await settle_everything(store)
    async with served(store, settings=RISKY) as browser:
        text = (await browser.get("/queue")).text
    assert asked(text) == ["How much notice?"] * 3
    for part in ("contradicted", "0.33", "score below threshold", "judge truncated", "The reply was cut.", "shop"):
        assert part in text, part


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("judge=diff", 1),
        ("judge=faithfulness", 0),
        ("reason=judge_failed", 1),
        ("reason=contradicted", 1),
        ("risk=high", 3),
        ("risk=normal", 1),
        ("job=weekly", 1),
        ("job=weekly&risk=high", 0),
        ("project=bank", 1),
        ("trace=t1", 3),
        ("age=1d", 4),
        ("age=1d%2B", 0),
        ("assignee=nobody", 4),
        ("assignee=me", 0),
        ("assignee=%3Dbob", 0),
    ],
)
async def test_filters_narrow_the_list_and_its_count(store, query, count):
    await settle_everything(store)
    weekly = evaluation(verdict("w1", "halves", None, Status.SKIPPED), item("w1"), "policy")
    await settle(store, "w1", weekly, job="weekly", project="bank")
    async with served(store, settings=RISKY) as browser:
        text = (await browser.get(f"/queue?{query}")).text
    assert len(ids(text)) == count
    assert f'class="total">{count}<' in text


async def test_each_value_of_a_filter_tells_how_many_it_would_leave(store):
    await settle_everything(store)
    async with served(store, settings=RISKY) as browser:
        text = (await browser.get("/queue?judge=diff")).text
    for option in ("diff (1)", "consistency (1)", "halves (1)", "contradicted (1)", "high (1)", "shop (1)"):
        assert f">{option}</option>" in text, option
    assert "judge failed (1)" not in text


@pytest.mark.parametrize("query", ["age=9d", "risk=some", "after=yesterday", "after=2026-01-01T00:00:00~x", "before=~"])
async def test_what_is_not_known_is_refused_in_a_sentence(store, query):
    async with served(store) as browser:
        answer = await browser.get(f"/queue?{query}")
    assert answer.status_code == 400
    assert "This did not work" in answer.text


async def test_pages_follow_one_another_and_keep_their_filter(store, monkeypatch):
    monkeypatch.setattr(page, "PAGE", 2)
    await fill(store, 5)
    async with served(store) as browser:
        seen, address, addresses = [], "/queue?judge=diff", []
        while address:
            text = (await browser.get(address)).text
            seen += asked(text)
            addresses.append(address)
            found = re.search(r'rel="next" href="([^"]+)"', text)
            address = found[1].replace("&amp;", "&") if found else None
        assert seen == [f"Question {number}?" for number in range(5)]
        assert all("judge=diff" in one for one in addresses)
        back = re.search(r'rel="prev" href="([^"]+)"', text)[1].replace("&amp;", "&")
        assert asked((await browser.get(back)).text) == ["Question 2?", "Question 3?"]


async def test_programs_read_the_queue_as_json(store, monkeypatch):
    monkeypatch.setattr(page, "PAGE", 2)
    await fill(store, 3)
    async with served(store) as browser:
        await browser.post("/queue/next", of="/queue")
        first = (await browser.get("/queue?format=json")).json()
        second = (await browser.get(first["next"], headers={"accept": "application/json"})).json()
        assert (await browser.get("/queue?format=xml")).status_code == 400
    assert first["total"] == 3
    assert [one["question"] for one in first["items"] + second["items"]] == [f"Question {n}?" for n in range(3)]
    assert [one["assignee"] is None for one in first["items"]] == [False, True]
    assert first["items"][0]["reasons"] == ["contradicted"]
    assert second["next"] is None


async def test_many_items_are_decided_at_once_and_become_labels(store):
    await fill(store, 3)
    async with served(store) as browser:
        text = (await browser.get("/queue")).text
        chosen = [("item", one) for one in ids(text)[:2]]
        answer = await browser.post(
            "/queue", [*chosen, ("do", "reject"), ("comment", "fine"), ("back", "/queue?judge=diff")], of="/queue"
        )
        assert answer.headers["location"] == "/queue?judge=diff"
        after = (await browser.get("/queue")).text
    assert "2 items rejected." in after
    assert asked(after) == ["Question 2?"]
    decided = await store.questions(QueueFilter(state=ReviewState.DECIDED))
    assert [(d.outcome, d.label, d.comment) for q in decided for d in q.decisions] == [
        ("reject", "faithful", "fine")
    ] * 2


async def test_one_button_decides_one_item(store):
    await fill(store, 2)
    async with served(store) as browser:
        first, _ = ids((await browser.get("/queue")).text)
        await browser.post("/queue", {"do": f"confirm:{first}"}, of="/queue")
        text = (await browser.get("/queue")).text
        assert asked(text) == ["Question 1?"]
        assert f'1 item confirmed. <a href="/review/{first}">Look again</a>' in text
        nothing = await browser.post("/queue", {"do": "confirm"}, of="/queue")
        assert nothing.status_code == 303
        assert "Choose items first." in (await browser.get("/queue")).text
        assert (await browser.post("/queue", {"do": "explode", "item": "x"}, of="/queue")).status_code == 400


async def test_two_people_do_not_get_the_same_item(store):
    await fill(store, 3)
    async with served(store, token=TOKEN) as ada, served(store, token=TOKEN) as bob:
        await ada.sign_in(person="ada")
        await bob.sign_in(person="bob")
        first = (await ada.post("/queue/next", of="/queue")).headers["location"]
        second = (await bob.post("/queue/next", of="/queue")).headers["location"]
        assert first.split("?")[0] != second.split("?")[0]
        text = (await bob.get("/queue")).text
        mine = ids(text)[0]
        assert first.startswith(f"/review/{mine}")
        assert re.search(r'class="tag holder">ada<', text)
        await bob.post("/queue", {"do": f"confirm:{mine}"}, of="/queue")
        assert "ada is at this item" in (await bob.get("/queue")).text
        await bob.post("/queue", [("item", one) for one in ids(text)] + [("do", "take")], of="/queue")
        assert "2 items taken, 1 held by somebody else." in (await bob.get("/queue")).text
        assert len(ids((await ada.get("/queue?assignee=%3Dbob")).text)) == 2
        await bob.post("/queue", [("item", one) for one in ids(text)] + [("do", "free")], of="/queue")
        assert ids((await ada.get("/queue?assignee=me")).text) == [mine]


async def test_a_claim_ends_by_itself(store):
    await fill(store, 1)
    now = store.clock()
    async with served(store, claim=timedelta(minutes=5)) as browser:
        await browser.post("/queue/next", of="/queue")
        store.clock = lambda: now + timedelta(minutes=4)
        assert "you are at 1" in (await browser.get("/queue")).text
        store.clock = lambda: now + timedelta(minutes=6)
        assert "you are at" not in (await browser.get("/queue")).text


async def test_when_nothing_is_free_that_is_said(store):
    async with served(store) as browser:
        answer = await browser.post("/queue/next", {"judge": "diff"})
        assert answer.headers["location"] == "/queue?judge=diff"
        assert "Nothing more is free here." in (await browser.get("/queue")).text


async def test_readers_look_and_decide_nothing(store):
    await fill(store, 1)
    async with served(store, token=TOKEN, read_token=READ_TOKEN) as browser:
        await browser.sign_in(READ_TOKEN)
        text = (await browser.get("/queue")).text
        assert asked(text) == ["Question 0?"]
        assert "<button" not in text.split("<main")[1].replace("<button>Filter</button>", "")
        answer = await browser.post("/queue", {"do": f"confirm:{ids(text)[0]}"}, of="/queue")
        assert answer.status_code == 403
        assert "not decide" in answer.text


async def test_a_read_only_server_takes_no_decision_from_anybody(store):
    await fill(store, 1)
    async with served(store, read_only=True) as browser:
        text = (await browser.get("/queue")).text
        assert "read only" in text
        answer = await browser.post("/queue", {"do": f"confirm:{ids(text)[0]}"}, of="/login")
        assert answer.status_code == 403
