"""Load prompt files by `judge@version`, render them, and tell by a fingerprint which text produced a verdict.

A file holds YAML front matter (judge, version, variables, output schema, notes) and sections that begin with a line
`=== system ===`, `=== context ===` or `=== task ===`. `{{name}}` stands for a variable, and `{{#name}} ... {{/name}}`
for text that appears only if the variable has a value. A prompt with `shared: context@v2` takes `system` and `context`
from that file: they come first and are the same for all judges of an item, so that the provider's prefix cache works.
`before: halves_context@v1` names a prompt that is asked first; it belongs to this one and is part of its fingerprint.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import yaml

from enricher.errors import SetupError
from enricher.resources import folder

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # reads fifteen times as fast, where it is built in
HASH_FILE = "released.sha256"
RECORD_FILE = "releases.jsonl"  # on which regression each release rests; null for those from before that was asked
_SECTION = re.compile(r"^=== (system|context|task) ===\n", re.M)
_OPTIONAL = re.compile(r"\{\{#(\w+)\}\}\n?(.*?)\{\{/\1\}\}\n?", re.S)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_NAME = re.compile(r"([a-z][a-z_]*)@(v\d+[\w.-]*)")
_OPERATOR_TEXTS = ("additional_constraints", "examples", "risk_level")


class Message(TypedDict):
    """One message of a chat request."""

    role: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A loaded prompt with the operator's additions; equal fingerprints mean equal text for equal variables."""

    judge: str
    version: str
    system: str
    context: str
    task: str
    variables: tuple[str, ...]  # each must be given to `render`
    schema: Mapping[str, Any] = field(default_factory=dict)
    evidence: str = "references"  # or "quotes": how the model names its evidence
    notes: str = ""
    additions: Mapping[str, str] = field(default_factory=dict)  # additional_constraints, examples, risk_level
    fingerprint: str = ""
    before: "Prompt | None" = None  # what is asked first

    @property
    def name(self) -> str:
        """Return the name under which the prompt is loaded, such as `diff@v2`."""
        return f"{self.judge}@{self.version}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptFile:
    """A prompt as `enricher prompts list` shows it."""

    name: str
    path: Path
    sha256: str
    is_released: bool
    notes: str = ""
    regression: Mapping[str, Any] | None = None  # on which its release rests; None: it was released before that


def load(
    name: str,
    *,
    folders: Sequence[Path] = (),
    additional_constraints: str = "",
    examples: str = "",
    risk_level: str = "",
) -> Prompt:
    """Load a prompt such as `diff@v2`; `folders` are searched before the shipped one.

    Raises:
        SetupError: there is no such prompt, its file is malformed, or a released version was changed.
    """
    head, sections, digest = _read(name, folders)
    digests = [digest]
    variables = list(head.get("variables") or ())
    if shared := head.get("shared"):
        shared_head, shared_sections, shared_digest = _read(str(shared), folders)
        sections = {**shared_sections, **sections}
        variables = [*shared_head.get("variables", ()), *variables]
        digests.append(shared_digest)
    before = None
    if first := head.get("before"):
        if str(first) == name:
            raise SetupError(f"the prompt {name} can't be asked before itself")
        texts = {"additional_constraints": additional_constraints, "examples": examples, "risk_level": risk_level}
        before = load(str(first), folders=folders, **texts)
        digests.append(before.fingerprint)
    additions = {
        "additional_constraints": additional_constraints.strip(),
        "examples": examples.strip(),
        "risk_level": "" if risk_level == "normal" else risk_level.strip(),
    }
    return Prompt(
        judge=str(head["judge"]),
        version=str(head["version"]),
        system=sections.get("system", ""),
        context=sections.get("context", ""),
        task=sections.get("task", ""),
        variables=tuple(dict.fromkeys(variables)),
        schema=head.get("schema") or {},
        evidence=str(head.get("evidence", "references")),
        notes=str(head.get("notes", "")).strip(),
        additions=additions,
        fingerprint=_sha256(json.dumps([digests, additions], sort_keys=True))[:16],
        before=before,
    )


def render(prompt: Prompt, **variables: str) -> tuple[Message, ...]:
    """Fill in a prompt; values are inserted as they are, and nothing inside them is ever interpreted.

    Raises:
        SetupError: variables are missing or unknown; all of them are named together.
    """
    missing = [name for name in prompt.variables if name not in variables]
    known = {*prompt.variables, *_optional_names(f"{prompt.system}\n{prompt.context}\n{prompt.task}")}
    unknown = sorted(set(variables) - known)
    if missing or unknown:
        problems = [f"needs {', '.join(missing)}"] if missing else []
        problems += [f"does not know {', '.join(unknown)}"] if unknown else []
        raise SetupError(f"the prompt {prompt.name} {' and '.join(problems)}")
    values = {**prompt.additions, **variables}
    user = "\n".join(part for part in (_fill(prompt.context, values), _fill(prompt.task, values)) if part)
    messages: list[Message] = [{"role": "user", "content": user.strip()}]
    if prompt.system:
        messages.insert(0, {"role": "system", "content": _fill(prompt.system, values).strip()})
    return tuple(messages)


def list_prompts(folders: Sequence[Path] = ()) -> tuple[PromptFile, ...]:
    """List all prompts, those in `folders` before the shipped ones."""
    found = []
    for place in _places(folders):
        released, records = _released(place), _records(place)
        for path in sorted(place.glob("*/v*.md")):
            text = _text(path)
            head, _ = _split(path, text)
            digest = _sha256(text)
            found.append(
                PromptFile(
                    name=f"{path.parent.name}@{path.stem}",
                    path=path,
                    sha256=digest,
                    is_released=released.get(_key(path)) == digest,
                    notes=str(head.get("notes", "")).strip(),
                    regression=records.get((_key(path), digest)),
                )
            )
    return tuple(found)


def files_of(name: str, folders: Sequence[Path] = ()) -> tuple[PromptFile, ...]:
    """Return the files that a prompt is made of: its own, what it shares, and what is asked before.

    Raises:
        SetupError: there is no such prompt, or one of its files is malformed.
    """
    known: dict[str, PromptFile] = {}
    for prompt in list_prompts(folders):
        known.setdefault(prompt.name, prompt)
    found: dict[str, PromptFile] = {}
    waiting = [name]
    while waiting:
        wanted = waiting.pop()
        if wanted not in found:
            head, _, _ = _read(wanted, folders)
            found[wanted] = known[wanted]
            waiting += [str(head[key]) for key in ("shared", "before") if head.get(key)]
    return tuple(found.values())


def release(files: Sequence[PromptFile], regression: Mapping[str, Any]) -> None:
    """Make prompt files immutable, and record on which regression that rests.

    Raises:
        SetupError: the folder can't be written to.
    """
    for place in {file.path.parents[1] for file in files}:
        mine = {_key(file.path): file.sha256 for file in files if file.path.parents[1] == place}
        hashes = _released(place) | mine
        # The first recorded release says of those before it that nothing is known.
        before = {} if _has_records(place) else _released(place)
        lines = [_record(key, digest, None) for key, digest in before.items()]
        lines += [_record(key, digest, regression) for key, digest in mine.items()]
        try:
            with (place / RECORD_FILE).open("a", encoding="utf-8") as records:
                records.write("".join(f"{line}\n" for line in lines))
            text = "".join(f"{digest}  {key}\n" for key, digest in sorted(hashes.items()))
            (place / HASH_FILE).write_text(text, encoding="utf-8")
        except OSError as error:
            raise SetupError(f"{place} can't be written to: {error.strerror}") from error


def verify(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return one sentence for each released prompt that was changed, is gone, or rests on no recorded regression."""
    problems = []
    for place in _places(folders):
        records = _records(place)
        for key, digest in _released(place).items():
            path = place / key
            if _has_records(place) and (key, digest) not in records:
                problems.append(_unrecorded(key))
            if not path.is_file():
                problems.append(f"{key} was released and is gone from {place}")
            elif _sha256(_text(path)) != digest:
                problems.append(_changed(key))
    return tuple(problems)


def _read(name: str, folders: Sequence[Path]) -> tuple[dict[str, Any], dict[str, str], str]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise SetupError(f"'{name}' is no prompt name; write judge@version, such as diff@v2")
    for place in _places(folders):
        path = place / match[1] / f"{match[2]}.md"
        if path.is_file():
            text = _text(path)
            digest = _sha256(text)
            if _released(place).get(_key(path), digest) != digest:
                raise SetupError(_changed(_key(path)))
            head, sections = _split(path, text)
            return head, sections, digest
    known = ", ".join(sorted({prompt.name for prompt in list_prompts(folders)}))
    raise SetupError(f"there is no prompt {name}; there are {known}")


def _split(path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    _, opening, rest = text.partition("---\n")
    front, closing, body = rest.partition("\n---\n")
    try:
        head = yaml.load(front, Loader=_Loader) if opening and closing else None  # as safe, in C
    except yaml.YAMLError as error:
        raise SetupError(f"the front matter of the prompt {path} is not valid YAML: {error}") from error
    if not isinstance(head, dict) or not {"judge", "version"} <= head.keys():
        raise SetupError(f"the prompt {path} must begin with front matter that names its judge and version")
    pieces = _SECTION.split(body)
    sections = dict(zip(pieces[1::2], (piece.strip("\n") + "\n" for piece in pieces[2::2]), strict=True))
    used = {name for section in sections.values() for name in _PLACEHOLDER.findall(_OPTIONAL.sub("", section))}
    undeclared = used - set(head.get("variables") or ())
    if not sections or undeclared:
        lacks = f"uses {', '.join(sorted(undeclared))} without declaring it" if undeclared else "has no sections"
        raise SetupError(f"the prompt {path} {lacks}")
    return head, sections


def _fill(template: str, values: Mapping[str, str]) -> str:
    # The template is resolved before any value enters it, so that braces inside a value stay what they are.
    pieces = _pieces(template, frozenset(name for name, value in values.items() if value))
    return "".join(values.get(piece, "") if at % 2 else piece for at, piece in enumerate(pieces))


@lru_cache  # a run renders a handful of templates, each for every trace
def _pieces(template: str, given: frozenset[str]) -> tuple[str, ...]:
    """Cut a template, for those variables that have a value, into texts and the names between them, in turn."""
    chosen = _OPTIONAL.sub(lambda match: match[2] if match[1] in given else "", template)
    return tuple(_PLACEHOLDER.split(chosen))


@lru_cache
def _optional_names(template: str) -> frozenset[str]:
    return frozenset(match[1] for match in _OPTIONAL.finditer(template) if match[1] not in _OPERATOR_TEXTS)


def _places(folders: Sequence[Path]) -> list[Path]:
    return [*folders, folder("prompts")]


def _released(place: Path) -> dict[str, str]:
    path = place / HASH_FILE
    if not path.is_file():
        return {}
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {key: digest for digest, key in lines}


def _has_records(place: Path) -> bool:
    return (place / RECORD_FILE).is_file()


def _records(place: Path) -> dict[tuple[str, str], Mapping[str, Any] | None]:
    if not _has_records(place):
        return {}
    path = place / RECORD_FILE
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {(row["key"], row["sha256"]): row["regression"] for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(f"{path} is damaged; restore it from version control: {error}") from error


def _record(key: str, digest: str, regression: Mapping[str, Any] | None) -> str:
    return json.dumps({"key": key, "sha256": digest, "regression": regression})


def _unrecorded(key: str) -> str:
    name = key.removesuffix(".md").replace("/", "@")
    return (
        f"{key} is in {HASH_FILE} without a recorded regression; take it out, run `enricher regress --prompt {name} "
        f"--accept` and `enricher prompts release {name}`"
    )


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _changed(key: str) -> str:
    return f"{key} was released and has been changed; released prompts are immutable, so copy it to a new version"


def _text(path: Path) -> str:
    # Universal newlines: a checkout with other line ends is the same prompt.
    return path.read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
