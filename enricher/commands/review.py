"""`enricher review list|show|decide`: the review queue without a browser."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from enricher.commands.console import DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError
from enricher.printing import number_of

group = typer.Typer(help="Work through the review queue.", no_args_is_help=True)


@group.command("list")
def list_(
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only of this judge.")] = None,
    reason: Annotated[str | None, typer.Option(help="Only with a reason that begins so.")] = None,
    trace: Annotated[str | None, typer.Option(help="Only of traces whose id begins so.")] = None,
    state: Annotated[str, typer.Option(help="open, decided, superseded or all.")] = "open",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List what people are asked to look at, oldest first."""
    from enricher.report import show as print_out
    from enricher.review.queue import as_row
    from enricher.review.show import queue_table
    from enricher.settings import load
    from enricher.store import QueueFilter, ReviewState, Store

    states = {str(one): one for one in ReviewState}
    if state != "all" and state not in states:
        raise SetupError(f"--state: '{state}' is not known; use {', '.join(states)} or all")
    wanted = QueueFilter(
        state=states.get(state), job=job, project=project, judge=judge, reason=reason, trace_id=trace
    )  # fmt: skip

    async def work() -> int:
        async with await Store.open(load(config).store) as store:
            found = await store.questions(wanted, limit)
            total = await store.count_questions(wanted)
        if as_json:
            print_json({"total": total, "items": [as_row(question) for question in found]})
        else:
            print_out(queue_table(found, total))
        return DONE

    end_with(work())


@group.command("show")
def show(
    item: Annotated[str, typer.Argument(metavar="ID", help="Id of the item; its beginning is enough.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one item with all that is needed to decide: question, answer, passages, opinions, why it is asked."""
    from enricher.links import platform_link
    from enricher.report import show as print_out
    from enricher.review.queue import as_dict, find
    from enricher.review.show import question_view
    from enricher.settings import load
    from enricher.store import Store

    settings = load(config)

    async def work() -> int:
        async with await Store.open(settings.store) as store:
            question = await find(store, item)
            story = await store.explain(question.review.trace_id)
        place = settings.connections.get(question.review.connection)
        locator = {name: text for record in story.refs for name, text in record.ref.locator.items()}
        more: Any = {
            "link": platform_link(place, question.evaluation.verdict.span_id, locator),
            "raw_replies": story.raw_replies.get(question.evaluation.id, ()),
        }
        reports = [report for record in story.refs for report in record.ref.reports]
        if as_json:
            told = [{"name": r.name, "label": r.label, "score": r.score, "comment": r.comment} for r in reports]
            print_json(as_dict(question, **more) | {"user_reports": told})
        else:
            print_out(question_view(question, reports, **more))
        return DONE

    end_with(work())


@group.command("decide")
def decide(
    item: Annotated[str, typer.Argument(metavar="ID", help="Id of the item; its beginning is enough.")],
    outcome: Annotated[str, typer.Argument(help="confirm, reject or correct.")],
    label: Annotated[str | None, typer.Option(help="The right label of the whole verdict.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", "--segment", help="The right label of a statement, such as s2=FULLY_SUPPORTED."),
    ] = None,
    comment: Annotated[str, typer.Option(help="Why.")] = "",
    by: Annotated[str | None, typer.Option("--by", help="Who decides; else ENRICHER_REVIEWER.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Decide one item: it becomes a person's label, goes back to the platform, and leaves the queue."""
    from enricher.app import App
    from enricher.review.queue import as_label, decided, find
    from enricher.review.queue import decide as record
    from enricher.settings import load

    async def work() -> int:
        async with await App.open(load(config)) as app:
            question = await find(app.store, item)
            decision = decided(
                question,
                outcome=outcome,
                person=by or os.environ.get("ENRICHER_REVIEWER", ""),
                final=label,
                changes=changes or (),
                comment=comment,
            )
            annotations = await record(app.store, question, decision)
            left = await app.deliver_now(question.review.connection)
        if as_json:
            print_json(as_label(question, decision) | {"written": len(annotations), "undelivered": left})
        else:
            print(f"{decision.outcome} by {decision.person}: {decision.label or 'no label'}")
            if left:
                waiting = number_of(left, "annotation is", "annotations are")
                print(f"the platform is out: {waiting} sent with the next run")
        return INCOMPLETE if left else DONE

    end_with(work())


@group.command("add-to-golden")
def add_to_golden(
    items: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of decided items; beginnings are enough.")],
    golden: Annotated[Path | None, typer.Option(help="Golden set; regress.golden of the config if not given.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Put decided items with their labels into the golden set; safe to repeat."""
    from enricher.measure.golden import add_to_golden as put
    from enricher.measuring import golden_path
    from enricher.review.queue import find
    from enricher.settings import load
    from enricher.store import Store

    settings = load(config)
    path = golden_path(settings, golden)

    async def work() -> int:
        async with await Store.open(settings.store) as store:
            questions = [await find(store, item) for item in items]
        done = {question.review.id: put(path, question) for question in questions}
        if as_json:
            print_json({"golden": str(path), "items": done})
        else:
            print("\n".join(f"{name[:8]} {outcome} ({path})" for name, outcome in done.items()))
        return DONE

    end_with(work())
