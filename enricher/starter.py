"""The first config of a new user: short, commented, and valid."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from enricher.errors import SetupError
from enricher.settings import load

Platform = Literal["phoenix", "langsmith", "files"]
SCHEMA_FILE = "enricher.schema.json"
ADDRESSES: Mapping[Platform, str] = {
    "phoenix": "http://127.0.0.1:6006",
    "langsmith": "https://api.smith.langchain.com",
    "files": "exports/*.jsonl",
}
_KEYS = {"phoenix": "PHOENIX_API_KEY", "langsmith": "LANGSMITH_API_KEY", "openai": "OPENAI_API_KEY"}
_OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What a config is made of, as people give it."""

    platform: Platform = "phoenix"
    address: str | None = None  # None: that of ADDRESSES
    project: str = "default"  # or several, with commas between; or all
    engine: Literal["local", "openai"] = "local"
    model: str | None = None  # with engine openai
    model_url: str | None = None  # None: OpenAI's own
    when: str = "0 2 * * *"  # a crontab line, an interval such as 15m, or never


def config_text(answers: Answers) -> str:
    """Write a config with a comment at each place that people change next."""
    return "\n".join([*_head(answers), *_engine(answers), *_connection(answers), *_job(answers)]) + "\n"


def checked(text: str) -> None:
    """Read a config as every command reads it.

    Raises:
        SetupError: names what is wrong with it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "enricher.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            load(path)
        except SetupError as error:
            raise SetupError(str(error).replace(str(path), "such a config")) from error


def next_commands(path: Path) -> list[tuple[str, str]]:
    """Return what to call next, and what it is for."""
    return [
        (f"enricher doctor -c {path}", "is everything reachable and allowed? what would each rule match?"),
        (f"enricher run -c {path} --dry-run", "what would be judged; writes nothing"),
        (f"enricher run -c {path}", "the first run; enricher schedule keeps the times"),
    ]


def keys_to_set(answers: Answers, environment: Mapping[str, str]) -> list[str]:
    """Return the environment variables that the config needs and that are not set."""
    needed = ["langsmith"] if answers.platform == "langsmith" else []  # a local Phoenix needs none
    if answers.engine == "openai":
        needed.append("openai")
    return [_KEYS[name] for name in needed if not environment.get(_KEYS[name])]


def _head(answers: Answers) -> list[str]:
    key = _KEYS.get(answers.platform)
    return [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        "# Config of Trace Enricher. Every other key has a default: your editor explains them by the schema above,",
        "# and so does config/default.yaml of the project.",
        f"# Secrets never stand here; they come from the environment{f': {key}' if key else ''}.",
        "",
        "store: sqlite:///trace-enricher.db # runs and verdicts; for several machines postgresql://...",
    ]


def _engine(answers: Answers) -> list[str]:
    if answers.engine == "local":
        return [
            "",
            "engine: local # embedded, nothing leaves the machine",
            "# engine: openai # a model instead: any OpenAI-compatible endpoint, with its key in OPENAI_API_KEY",
            "# openai: {model: gpt-4o-mini-2024-07-18} # pin a dated version; base_url for vLLM, Ollama, Azure ...",
        ]
    return [
        "",
        "engine: openai # local: the embedded engine, nothing leaves the machine",
        "openai:",
        f"  model: {_quoted(answers.model or '')} # pin a dated version",
        f"  base_url: {_quoted(answers.model_url or _OPENAI)}",
        "  # prices: {MODEL: {in: 0.15, cached: 0.075, out: 0.6}} # for a million tokens; then budgets can be kept",
        "# budget: {per_day: 20} # what does not fit stays due",
    ]


def _connection(answers: Answers) -> list[str]:
    name, address = answers.platform, answers.address or ADDRESSES[answers.platform]
    where = f"    paths: [{_quoted(address)}]" if name == "files" else f"    base_url: {_quoted(address)}"
    return ["", "connections:", f"  {name}:", f"    kind: {name}", where]


def _job(answers: Answers) -> list[str]:
    names = [name.strip() for name in answers.project.split(",") if name.strip()]
    projects = "all" if names == ["all"] else f"[{', '.join(map(_quoted, names))}]"
    return [
        "",
        "jobs:",
        "  nightly:",
        f"    connection: {answers.platform}",
        f"    projects: {projects}",
        *_rules(answers.platform),
        "    judges: [diff] # also: faithfulness, halves, consistency",
        "    # risk_level: high # every contradiction and every score below 0.9 goes to people as well",
        f"    schedule: {_times(answers.when)}",
    ]


def _rules(platform: Platform) -> list[str]:
    if platform == "files":
        return ["    rules:", "      - name: all # rate: 0.1 would take a tenth"]
    report = "user_score" if platform == "langsmith" else "user_feedback"
    return [
        "    rules: # a trace that several rules choose is judged once",
        "      - name: reported # what users complained about, also days later",
        "        reports: # the name that your application gives its feedback",
        f"          - {{name: {report}, max_score: 0}}",
        "          - {name: user_feedback, labels: [thumbs-down]}",
        "      - name: sampled # and a tenth of all the others",
        "        rate: 0.1",
    ]


def _times(when: str) -> str:
    if when == "never":
        return "null # only when enricher run is called; or {cron: '0 2 * * *', timezone: Europe/Berlin}"
    if len(when.split()) == 1 and not when.startswith("@"):
        return f"{{every: {_quoted(when)}}} # or {{cron: '0 2 * * *', timezone: Europe/Berlin}}"
    return f"{{cron: {_quoted(when)}, timezone: UTC}} # or {{every: 15m}}"


def _quoted(value: str) -> str:
    """Write a value so that YAML reads it as this text and nothing else."""
    return json.dumps(value, ensure_ascii=False)
