"""Write `docs/commands.md` from the command line itself: `python -m tests.command_reference > docs/commands.md`."""

from collections.abc import Iterator
from typing import Any

import typer

from enricher.cli import cli

_HEAD = """\
# Commands and their options

Written by `python -m tests.command_reference > docs/commands.md`; a test keeps it true. What the commands are for is
told in the [README](../README.md#commands). All take `--help`. `--log-format text|json` stands before the command.
"""


def commands() -> list[tuple[str, Any]]:
    """Return every command that does something, by its name after `enricher`."""
    return list(_below(typer.main.get_command(cli), ""))


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(
        f"\n## enricher {name}\n\n{command.help}\n\n{_table(command)}" for name, command in commands()
    )


def _below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for key, sub in command.commands.items():
            yield from _below(sub, f"{name} {key}".strip())
    else:
        yield name, command


def _table(command: Any) -> str:
    rows = [_row(parameter) for parameter in command.params]
    return "| | |\n|---|---|\n" + "".join(f"| {written} | {about} |\n" for written, about in rows) if rows else ""


def _row(parameter: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`", _escaped(parameter.help or "")
    written = ", ".join(f"`{option}`" for option in sorted(parameter.opts, key=len, reverse=True))
    default = parameter.default
    is_told = default not in (None, False, ()) and not parameter.is_flag and isinstance(default, str | int | float)
    return written, _escaped(parameter.help or "") + (f" Default: `{default}`." if is_told else "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
