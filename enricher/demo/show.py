"""Start a platform, send it the sample traces with user reports, run the job, and show what was found."""

import asyncio
import contextlib
import importlib
import json
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from enricher.app import App, run_jobs
from enricher.choosing import Request
from enricher.demo.phoenix import PhoenixStage
from enricher.demo.stage import PROJECT, Stage
from enricher.errors import SetupError
from enricher.progress import progress_bar
from enricher.report import as_text, diff_view, show, to_json
from enricher.run import RunResult
from enricher.settings import Job, Policy, Rule, Settings


async def run_demo(*, platform: str, once: bool, as_json: bool) -> int:
    """Run the demo and return the exit code; with `once` it ends when done, else it stays up until Ctrl-C."""
    console = Console(stderr=as_json)
    stage = _stage(platform)
    with tempfile.TemporaryDirectory(prefix="trace-enricher-demo-") as folder:
        try:
            with _cancelled_by_signals(), progress_bar() as progress:
                await stage.start(progress, console)
                await stage.fill(progress)
                settings = _settings(stage, Path(folder))
                (result,) = await run_jobs(settings, (), Request(), progress)
            if as_json:
                print(json.dumps(to_json(result.report), ensure_ascii=False, indent=2))
            else:
                show(as_text(result.report))
                show(_closer_look(result))
            if not once and result.report.state != "interrupted":
                stage.say_where(console)
                await _review_until_interrupted(settings, console)
        finally:
            await stage.stop()
    return 0 if result.report.is_clean else 1


def _stage(platform: str) -> Stage:
    if platform == "phoenix":
        return PhoenixStage()
    if platform != "langsmith":
        raise SetupError(f"--platform: '{platform}' is not known; use phoenix or langsmith")
    try:
        # LangSmith's service can't be started here; its stand-in belongs to the tests and is not installed.
        module = importlib.import_module("tests.servers.langsmith.stage")
    except ModuleNotFoundError as error:
        raise SetupError("the LangSmith demo needs a checkout: clone the repository and run it there") from error
    stage: Stage = module.LangSmithStage()
    return stage


def _settings(stage: Stage, folder: Path) -> Settings:
    rules = (Rule(name="reported", reports=(stage.report,)), Rule(name="all", rate=1.0))
    # What leaves its context is put to people too, so that there is something to decide.
    job = Job(connection="demo", projects=(PROJECT,), rules=rules, policy=Policy(review_below=0.9))
    return Settings(store=f"sqlite:///{folder / 'demo.db'}", connections={"demo": stage.connection}, jobs={"demo": job})


def _closer_look(result: RunResult) -> RenderableType:
    worst = result.worst
    if worst is None:
        return Text("No trace could be judged.", style="red")
    title = Text(f"\nThe worst one, trace {worst.verdict.trace_id}\n", style="bold")
    return Group(title, diff_view(worst.verdict, worst.item.question, worst.item.answer), Text(""))


async def _review_until_interrupted(settings: Settings, console: Console) -> None:
    # The pages need an extra, which the extra of the demo includes.
    from enricher.serve.serving import serve
    from enricher.serve.site import Site

    def say(url: str) -> None:
        console.print("Or review it in the browser:", style="bold")
        console.print(f"  {url}/queue  what you decide stands on the trace as a person's annotation.", soft_wrap=True)
        console.print("Ctrl-C ends the demo and removes everything it made.", style="dim")

    # The run has had handlers of its own and left none behind.
    with _cancelled_by_signals(), contextlib.suppress(asyncio.CancelledError):
        async with await App.open(settings) as app:
            site = Site.of(app.store, settings, app.deliver_now)
            await serve(site, port=0, stop=asyncio.Event(), ready=say)


@contextlib.contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM cancel this task, so that no platform is left behind."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
