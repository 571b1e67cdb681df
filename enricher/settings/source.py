"""Where each key of a config was written: in which line of the file, or in which environment variable."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from enricher.errors import SetupError
from enricher.settings.problems import Place, Problem
from enricher.settings.root import Settings

_PREFIX = "ENRICHER_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A config as it was written, before anything is checked."""

    document: dict[str, Any] = field(default_factory=dict)
    lines: dict[Place, int] = field(default_factory=dict)  # counted from 1
    variables: dict[Place, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()  # keys that are written twice, values that can't be read

    def told(self, problems: Iterable[Problem]) -> list[str]:
        """Say problems with the line or the variable that they come from, in the order of the lines."""
        rows = [(self._origin(problem.place), str(problem)) for problem in dict.fromkeys(problems)]
        return [
            f"{origin}: {text}" if origin else text for (_, origin), text in sorted(rows, key=lambda row: row[0][0])
        ]

    def _origin(self, place: Place) -> tuple[int, str]:
        for length in range(len(place), 0, -1):
            known = place[:length]
            if known in self.variables:
                return 0, self.variables[known]
            if known in self.lines:
                return self.lines[known], f"line {self.lines[known]}"
        return 0, ""


def read(path: Path | None, environment: Mapping[str, str]) -> Source:
    """Read a file and what the environment puts in its place.

    Raises:
        SetupError: the file can't be read, is no YAML, or holds no keys.
    """
    source = _from_file(path) if path is not None else Source()
    variables, unread = _override(source.document, environment)
    return Source(
        document=source.document, lines=source.lines, variables=variables, problems=(*source.problems, *unread)
    )


def fingerprint(path: Path) -> bytes | None:
    """Return what tells a config file from a changed one; None while it can't be read."""
    try:
        return sha256(path.read_bytes()).digest()
    except OSError:
        return None


def overrides(environment: Mapping[str, str]) -> dict[str, Place]:
    """Return the variables that stand for keys of the config; secrets and others with the prefix are none."""
    found = {}
    for variable in environment:
        place = tuple(variable.removeprefix(_PREFIX).lower().split("__"))
        if variable.startswith(_PREFIX) and place[0] in Settings.model_fields:
            found[variable] = place
    return found


def _from_file(path: Path) -> Source:
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        document = loader.construct_document(node) if node is not None else None
    except OSError as error:
        advice = "; enricher init writes one" if isinstance(error, FileNotFoundError) else ""
        raise SetupError(f"the config file {path} can't be read: {error.strerror}{advice}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"the config file {path} is no UTF-8 text; save it as UTF-8") from error
    except RecursionError as error:
        raise SetupError(f"the config file {path} is nested too deeply") from error
    except yaml.YAMLError as error:
        raise SetupError(f"the config file {path} is no valid YAML: {_where_it_breaks(error)}") from error
    if node is None or document is None:
        return Source()
    if not isinstance(document, dict):
        raise SetupError(f"the config file {path} must hold keys and values, such as 'engine: local'")
    lines: dict[Place, int] = {}
    twice = [
        _twice(place, line, lines[place]) for place, line in _keys(node, (), set()) if _is_second(lines, place, line)
    ]
    return Source(document=document, lines=lines, problems=tuple(twice))


def _is_second(lines: dict[Place, int], place: Place, line: int) -> bool:
    return lines.setdefault(place, line) != line


def _twice(place: Place, line: int, first: int) -> Problem:
    return Problem(place, f"is written twice, in line {first} and in line {line}; only one of them would count")


def _keys(node: yaml.Node, place: Place, seen: set[int]) -> Iterator[tuple[Place, int]]:
    """Yield the line of each key and of each entry of a list; what an alias repeats is told where it first stands."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*place, str(key.value))
            yield below, key.start_mark.line + 1
            yield from _keys(value, below, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            below = (*place, str(number))
            yield below, value.start_mark.line + 1
            yield from _keys(value, below, seen)


def _where_it_breaks(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None:
        return " ".join(str(error).split())
    hint = "; indent with spaces, not with tabs" if "'\\t'" in str(problem) else ""
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}{hint}"


def _override(document: dict[str, Any], environment: Mapping[str, str]) -> tuple[dict[Place, str], list[Problem]]:
    variables: dict[Place, str] = {}
    unread: list[Problem] = []
    for variable, place in overrides(environment).items():
        *parents, last = place
        variables[place] = variable
        try:
            value = yaml.safe_load(environment[variable])
        except yaml.YAMLError:
            unread.append(Problem(place, "can't be read as a YAML value; put it in quotes"))
            continue
        node = document
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}  # absent, or left empty in the file
            node = node[parent]
        node[last] = value
    return variables, unread
