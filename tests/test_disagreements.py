"""A disagreement of judge and second check is told where people look: in the report and in the story of the trace."""

import io

from rich.console import Console

from enricher import report, story
from enricher.choosing import Request
from enricher.executors.local import LocalExecutor
from enricher.judges.second import Checks
from enricher.pipeline import Judging, Pipeline
from enricher.progress import Silent
from enricher.run import Plan, Run
from enricher.settings import Job
from tests.test_pipeline import Model
from tests.test_run import ALL, World, world

__all__ = ["world"]


def text(renderable):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


async def test_the_report_and_the_story_show_what_the_second_check_says(world: World):
    async def recall(ref, item, digest, provenance):
        return None

    world.platform.add("t1")
    pipeline = Pipeline(judges=[Judging(judge=Model(""))], recall=recall, second=Checks())
    plan = Plan(name="nightly", job=Job(connection="memory", rules=(ALL,)), connector=world.platform, pipeline=pipeline)
    run = Run(plan, world.store, LocalExecutor(concurrency=4), Request(), Silent(), world.stop)
    found = (await run.execute()).report
    (one,) = found.disagreements
    assert (one.trace_id, one.standing, one.certainty, one.second_standing) == (
        "t1", "unsupported", "refuted", "supported",
    )  # fmt: skip
    assert one.evidence == "The notice period is sixty days."
    assert found.judges["diff"].certainties == {"refuted": 1}
    assert [(rate.checked, rate.agreed) for rate in found.agreement] == [(1, 0)]
    shown = text(report.as_text(found))
    assert "findings that the second check does not share" in shown
    assert "0 of 1 (0%)" in shown
    told = text(story.as_text(await world.store.explain("t1")))
    assert "refuted by the second check" in told
    assert "says supported" in told
