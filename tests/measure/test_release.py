"""Releasing a prompt: refused without a passed regression of exactly this text on exactly this golden set."""

import json

import pytest

from enricher.errors import SetupError
from enricher.measure.baseline import write_accepted
from enricher.measure.golden import read_golden
from enricher.measure.regression import Accepted
from enricher.measure.release import release
from enricher.prompts import list_prompts, load, verify
from enricher.resources import folder
from enricher.trust import Setting
from tests.measure.test_golden import RECORD, written
from tests.test_prompts import own_prompt


@pytest.fixture
def prompts(tmp_path):
    place = tmp_path / "prompts"
    own_prompt(place, front="variables: [answer]\nshared: context@v9")
    own_prompt(place, "context/v9", "=== system ===\nBe brief.\n", "variables: []")
    return place


def accept(golden, fingerprint, digest=None, prompt="diff@v9"):
    setting = Setting(judge="diff", engine="openai", prompt=prompt, prompt_hash=fingerprint, model="m", snapshot="m-1")
    entry = {"judge": "diff", "setting": setting, "version": "v", "at": "2026-11-02T00:00:00+00:00"}
    figures = {"items": 1, "agreement": 1.0, "regressions": 0, "failed": 0}
    write_accepted(golden.path, [Accepted(**entry, **figures, golden=digest or golden.digest("diff"))])


def states(place):
    return {p.name: (p.is_released, bool(p.regression)) for p in list_prompts([place]) if p.path.is_relative_to(place)}


def test_a_prompt_that_passed_is_released_with_its_parts_and_the_regression_is_on_record(tmp_path, prompts):
    golden = read_golden(written(tmp_path, RECORD))
    accept(golden, load("diff@v9", folders=[prompts]).fingerprint)
    files, entry = release("diff@v9", golden, [prompts])
    assert ([file.name for file in files], entry.agreement) == (["diff@v9", "context@v9"], 1.0)
    assert states(prompts) == {"diff@v9": (True, True), "context@v9": (True, True)}
    assert verify([prompts]) == ()
    (line, _) = (prompts / "releases.jsonl").read_text().splitlines()
    assert json.loads(line)["regression"]["snapshot"] == "m-1"
    with pytest.raises(SetupError, match="diff@v9 is released already"):
        release("diff@v9", golden, [prompts])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("nothing", r"no accepted regression in .*golden.baseline.json; run `enricher regress --golden"),
        ("prompt", "is not of this text: it was changed since"),
        ("part", "is not of this text"),
        ("golden", r"golden.jsonl was changed since the accepted regression"),
    ],
)
def test_a_release_without_a_regression_of_this_very_text_is_refused(tmp_path, prompts, change, sentence):
    golden = read_golden(written(tmp_path, RECORD))
    if change != "nothing":
        accept(golden, load("diff@v9", folders=[prompts]).fingerprint)
    if change == "prompt":
        own_prompt(prompts, text="=== task ===\nBe lenient with {{answer}}.\n", front="variables: [answer]")
    if change == "part":
        own_prompt(prompts, "context/v9", "=== system ===\nBe quick.\n", "variables: []")
    if change == "golden":
        golden = read_golden(written(tmp_path, {**RECORD, "label": "partial"}))
    with pytest.raises(SetupError, match=sentence):
        release("diff@v9", golden, [prompts])
    assert states(prompts) == {"diff@v9": (False, False), "context@v9": (False, False)}


def test_what_was_released_before_keeps_working_and_says_that_nothing_is_on_record(tmp_path, prompts):
    old = own_prompt(prompts, "diff/v8")
    digest = next(p.sha256 for p in list_prompts([prompts]) if p.path == old)
    (prompts / "released.sha256").write_text(f"{digest}  diff/v8.md\n")
    assert verify([prompts]) == ()
    golden = read_golden(written(tmp_path, RECORD))
    accept(golden, load("diff@v9", folders=[prompts]).fingerprint)
    release("diff@v9", golden, [prompts])
    assert states(prompts)["diff@v8"] == (True, False)
    assert load("diff@v8", folders=[prompts]).name == "diff@v8"
    assert verify([prompts]) == ()


def test_a_release_by_hand_is_found(tmp_path, prompts):
    golden = read_golden(written(tmp_path, RECORD))
    accept(golden, load("diff@v9", folders=[prompts]).fingerprint)
    release("diff@v9", golden, [prompts])
    by_hand = own_prompt(prompts, "diff/v10")
    digest = next(p.sha256 for p in list_prompts([prompts]) if p.path == by_hand)
    with (prompts / "released.sha256").open("a") as hashes:
        hashes.write(f"{digest}  diff/v10.md\n")
    (problem,) = verify([prompts])
    assert "diff/v10.md is in released.sha256 without a recorded regression" in problem
    assert "enricher prompts release diff@v10" in problem


def test_every_shipped_release_has_its_line_and_those_from_before_say_so():
    rows = [json.loads(line) for line in (folder("prompts") / "releases.jsonl").read_text().splitlines()]
    before = {row["key"] for row in rows if row["regression"] is None}
    # No new name may be added here: what is released from now on rests on a regression.
    assert before <= {
        "consistency/v1.md", "context/v1.md", "context/v2.md", "diff/v1.md", "diff/v2.md", "documents/v1.md",
        "faithfulness/v1.md", "faithfulness/v2-quotes.md", "faithfulness/v2.md", "halves/v1.md",
        "halves_context/v1.md", "pairwise/v1.md",
    }  # fmt: skip
    assert verify() == ()
