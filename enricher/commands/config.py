"""`enricher init` and `enricher schema`: a first config, and what editors need to help with it."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from enricher.commands.console import AsJson, print_json, write_file
from enricher.errors import SetupError

if TYPE_CHECKING:
    from enricher.starter import Answers


def init(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("enricher.yaml"),
    platform: Annotated[str | None, typer.Option(help="phoenix, langsmith or files.")] = None,
    address: Annotated[str | None, typer.Option(help="URL of the platform; with files a path such as *.jsonl.")] = None,
    project: Annotated[str | None, typer.Option(help="Project to judge; several with commas, or all.")] = None,
    engine: Annotated[str | None, typer.Option(help="local or openai.")] = None,
    model: Annotated[str | None, typer.Option(help="Dated name of the model, for engine openai.")] = None,
    model_url: Annotated[str | None, typer.Option("--model-url", help="Its endpoint; OpenAI's when not given.")] = None,
    when: Annotated[str | None, typer.Option(help='"0 2 * * *", an interval such as 15m, or never.')] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; what no flag says has its default.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first config, by a few questions or by flags, and say what to call next."""
    from enricher import starter

    given = {
        "platform": platform, "address": address, "project": project, "engine": engine, "model": model,
        "model_url": model_url, "when": when,
    }  # fmt: skip
    if output.exists() and not force:
        raise SetupError(f"{output} exists already; name another file with -o, or overwrite it with --force")
    answers = _answers(given, is_quiet=yes or as_json)
    text = starter.config_text(answers)
    starter.checked(text)
    schema_file = output.parent / starter.SCHEMA_FILE
    write_file(output, text)
    if force or not schema_file.exists():
        write_file(schema_file, _schema_text())
    missing, commands = starter.keys_to_set(answers, os.environ), starter.next_commands(output)
    if as_json:
        found = {"config": str(output), "schema": str(schema_file), "set": missing, "next": [c for c, _ in commands]}
        print_json(found)
        return
    print(f"wrote {output}, and {schema_file} for your editor")
    for name in missing:
        print(f"set {name} in the environment")
    print("next:")
    width = max(len(command) for command, _ in commands)
    for command, purpose in commands:
        print(f"  {command:<{width}}  # {purpose}")


def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of to the terminal.")
    ] = None,
) -> None:
    """Print the JSON schema of the config, for editors."""
    text = _schema_text()
    if output is None:
        print(text, end="")
    else:
        write_file(output, text)


def _schema_text() -> str:
    from enricher.resources import folder
    from enricher.settings.schema import schema as made

    return json.dumps(made(folder("config") / "default.yaml"), ensure_ascii=False, indent=2) + "\n"


def _answers(given: dict[str, str | None], *, is_quiet: bool) -> "Answers":
    from enricher.starter import ADDRESSES, Answers, Platform

    def answer(name: str, question: str, default: str | None, choices: tuple[str, ...] = ()) -> str:
        value = given[name]
        if value is None:
            value = default if is_quiet and default is not None else _asked(name, question, default, is_quiet=is_quiet)
        if choices and value not in choices:
            raise SetupError(f"--{name}: '{value}' is not known; use one of {', '.join(choices)}")
        return value

    platforms = get_args(Platform)
    platform = answer("platform", f"Where are your traces? ({', '.join(platforms)})", "phoenix", platforms)
    place = "Which files hold them?" if platform == "files" else "What is its URL?"
    address = answer("address", place, ADDRESSES[platform])  # type: ignore[index]  # checked right above
    project = answer("project", "Which project? (several with commas, or all)", "default")
    engine = answer(
        "engine", "Who judges? (local: nothing leaves the machine; openai: a model)", "local", ("local", "openai")
    )
    model = answer("model", "Which model? (a dated version)", None) if engine == "openai" else None
    when = answer("when", "When? (a crontab line, an interval such as 15m, or never)", "0 2 * * *")
    return Answers(
        platform=platform, address=address, project=project, engine=engine, model=model,  # type: ignore[arg-type]
        model_url=given["model_url"], when=when,
    )  # fmt: skip


def _asked(name: str, question: str, default: str | None, *, is_quiet: bool) -> str:
    option = f"--{name.replace('_', '-')}"
    if is_quiet:
        raise SetupError(f"{option} is needed here, since there is no default")
    print(f"{question}{f' [{default}]' if default else ''} ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise SetupError(f"there was no answer; give {option}, or --yes for the defaults")
    return line.strip() or default or _asked(name, question, default, is_quiet=is_quiet)
