"""`enricher prompts list|show|verify|release`: prompt versions, and what their releases rest on."""

from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import DONE, OPERATOR, AsJson, ConfigFile, print_json

group = typer.Typer(help="Prompt versions and their hashes.", no_args_is_help=True)


@group.command("list")
def list_(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List prompt versions with their hashes, and whether a release rests on a regression."""
    from enricher.app import prompt_rows
    from enricher.settings import load

    rows = prompt_rows(load(config))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        known = f"  {row['regression']}" if row["state"] == "released" else ""
        print(f"{row['name']:<22} {row['hash'][:12]}  {row['state']:<8}{known}".rstrip())


@group.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Such as diff@v2.")], config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Show one prompt as it is sent, before its variables are filled in."""
    from enricher.app import prompt_text
    from enricher.settings import load

    found = prompt_text(load(config), name)
    if as_json:
        print_json(found)
    else:
        print(found["text"])


@group.command("verify")
def verify(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check that no released prompt was changed, and that each release rests on a regression or is from before."""
    from enricher.app import verify_prompts
    from enricher.settings import load

    problems = verify_prompts(load(config))
    if as_json:
        print_json(problems)
    elif problems:
        print("\n".join(problems))
    else:
        print("all released prompts are unchanged")
    raise typer.Exit(OPERATOR if problems else DONE)


@group.command("release")
def release(
    name: Annotated[str, typer.Argument(help="Such as diff@v3.")],
    golden: Annotated[Path | None, typer.Option(help="Golden set; regress.golden of the config if not given.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a prompt immutable; refused unless `enricher regress --accept` has passed for it on the golden set."""
    from enricher.measure.golden import read_golden
    from enricher.measure.release import release as make
    from enricher.measuring import golden_path
    from enricher.privacy import rules_without_store
    from enricher.settings import load

    settings = load(config)
    read = read_golden(golden_path(settings, golden), rules_without_store(settings))
    files, entry = make(name, read, settings.prompt_folders)
    if as_json:
        print_json({"released": [file.name for file in files], "regression": entry.model_dump(exclude={"results"})})
    else:
        agreed = "not measured" if entry.agreement is None else f"{entry.agreement:.1%}"
        print(f"released {', '.join(file.name for file in files)}: {agreed} of {entry.items} golden items, {entry.at}")
