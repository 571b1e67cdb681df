"""Trust in the judge, from people's annotations on a real Phoenix to findings that are no longer confirmed."""

import json

from tests.acceptance.traces import answered, root
from tests.servers import oracle
from tests.servers.openai import OpenAIServer, Say

FLAGS = ("--config", "enricher.yaml")
TRUE, FALSE = "Refunds are paid within 30 days.", "Refunds are paid within {} days."


def configure(user, phoenix, model, **more):
    user.configure(
        engine="openai",
        openai={"base_url": model.url, "model": "m-1"},
        connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url}},
        jobs={"nightly": {"projects": [phoenix.project], "rules": [{"name": "all"}]}},
        calibrate={"min_labels": 4, **more},
    )


def reporting(model, snapshot):
    model.default = lambda request: Say(oracle.answer(request.prompt), model=snapshot)


async def annotate(phoenix, trace, label):
    await phoenix.annotate_span(root(trace).span_id, name="context_diff", result={"label": label})


async def written(phoenix, trace):
    (row,) = [
        row
        for row in await phoenix.annotations_on(root(trace).span_id)
        if row["name"] == "context_diff" and row["annotator_kind"] == "LLM"
    ]
    return row["metadata"]


async def test_findings_are_confirmed_only_while_the_judge_agrees_with_people_and_is_the_calibrated_one(user, phoenix):
    wrong = [answered(FALSE.format(days)) for days in (90, 80, 70)]
    right = answered(TRUE)
    await phoenix.seed(*wrong, right)
    async with OpenAIServer().running() as model:
        reporting(model, "m-1-june")
        configure(user, phoenix, model)
        assert (await user.run("--since", "2h", "--json")).json["warnings"] == []
        assert (await written(phoenix, wrong[0]))["segments"][0]["certainty"] == "confirmed"

        none = await user.enricher("calibrate", *FLAGS)
        assert (none.code, "there is no label on a judged answer; 4 are needed" in none.out) == (1, True)

        for trace in wrong[:2]:
            await annotate(phoenix, trace, "contradicted")
        await annotate(phoenix, right, "faithful")
        few = await user.enricher("calibrate", *FLAGS)
        assert (few.code, "3 labels, 1 more is needed before they count" in few.out) == (1, True)
        assert user.count("calibrations") == 0

        await annotate(phoenix, wrong[2], "faithful")  # here the person is mistaken, or the judge
        low = await user.enricher("calibrate", "--json", *FLAGS)
        assert low.code == 3, low.err
        (figures,) = low.json["settings"]
        assert (figures["agreement"]["count"], figures["agreement"]["of"]) == (3, 4)
        assert figures["kappa"] == 0.5  # observed 0.75, by chance (2 x 3 + 2 x 1) / 16
        assert figures["setting"]["snapshot"] == "m-1-june"
        assert figures["sources"] == {"platform": 4}
        assert any("automatic confirmation of diff is held: it agreed with 75%" in w for w in low.json["warnings"])

        later = answered(FALSE.format(60))
        await phoenix.seed(later)
        held = (await user.run("--since", "2h", "--json")).json
        assert any("75% of 4 labels" in warning for warning in held["warnings"])
        told = await written(phoenix, later)
        assert told["segments"][0]["certainty"] == "unconfirmed"
        assert told["flags"] == ["confirmation_held:agreement_below_level"]
        assert held["in_review"] == 1
        doctor = await user.enricher("doctor", *FLAGS)
        assert (doctor.code, "automatic confirmation of diff is held" in doctor.out) == (0, True)

        # People think again; their newest label counts, and one in a file beside them.
        await annotate(phoenix, wrong[2], "contradicted")
        label = {"span_id": root(later).span_id, "trace_id": root(later).trace_id, "label": "contradicted"}
        (user.folder / "more.jsonl").write_text(json.dumps({**label, "person": "ada"}) + "\n")
        good = await user.enricher("calibrate", "--labels", "more.jsonl", *FLAGS)
        assert good.code == 0, good.out
        assert "agrees with people on 5 of 5, 100%" in good.out

        (review,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
        assert review["reasons"] == ["unconfirmed"]
        item, golden = review["id"][:8], ("--golden", "golden.jsonl", *FLAGS)
        undecided = await user.enricher("review", "add-to-golden", item, *golden)
        assert "nobody has decided" in undecided.complaint
        await user.enricher("review", "decide", item, "confirm", "--by", "bob", *FLAGS)
        for outcome in ("added", "unchanged"):
            assert f"{item} {outcome}" in (await user.enricher("review", "add-to-golden", item, *golden)).out
        (row,) = map(json.loads, (user.folder / "golden.jsonl").read_text().splitlines())
        assert (row["answer"], row["label"], row["person"]) == (FALSE.format(60), "contradicted", "bob")

        next_night = answered(FALSE.format(50))
        await phoenix.seed(next_night)
        assert (await user.run("--since", "2h", "--json")).json["warnings"] == []
        assert (await written(phoenix, next_night))["segments"][0]["certainty"] == "confirmed"

        reporting(model, "m-1-july")
        another = answered(FALSE.format(40))
        await phoenix.seed(another)
        shifted = (await user.run("--since", "2h", "--json")).json
        assert any("its model is m-1-july, calibrated was m-1-june" in w for w in shifted["warnings"])
        assert (await written(phoenix, another))["flags"][-1] == "confirmation_held:model_changed"

        drifted = await user.enricher("drift", *FLAGS)
        assert (drifted.code, "nightly: nothing has moved" in drifted.out) == (0, True)
        assert "agreement with people: diff@v2 on m-1 (m-1-june)" in drifted.out
        assert (await user.enricher("drift", "--json", *FLAGS)).json["moved"] is False
        assert "there is no job 'weekly'" in (await user.enricher("drift", "weekly", *FLAGS)).complaint
