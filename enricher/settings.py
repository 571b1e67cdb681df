"""Read YAML and environment into frozen settings; refuse unknown keys and report every problem together."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from enricher.errors import SetupError
from enricher.trace import SpanKind

JudgeName = Literal["diff", "faithfulness", "halves", "consistency"]
Condition = Literal["always", "two_documents", "reported", "diff_finds", "high_risk"]
FocusSite = Literal["clause_numbers", "dates", "amounts", "names", "quantifiers", "modals"]
DimensionName = Literal["faithfulness", "citation_accuracy", "completeness", "source_conflict_handling"]
EngineName = Literal["local", "openai"]
RiskLevel = Literal["normal", "high"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SECRET_KEYS = re.compile(r"(api[_-]?key|token|secret|password|secret_url|^headers)$", re.IGNORECASE)


def duration(value: object) -> object:
    """Read "90s", "30m", "24h", "7d" or "1h30m"; let anything else through to the type check."""
    if not isinstance(value, str):
        return value
    parts = list(_DURATION.finditer(value.strip()))
    if not parts or "".join(part.group(0) for part in parts) != value.strip():
        raise ValueError(f"'{value}' is no duration; write for example 30m, 24h or 7d")
    return timedelta(seconds=sum(float(part.group(1)) * _SECONDS[part.group(2)] for part in parts))


Duration = Annotated[timedelta, BeforeValidator(duration)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the config: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PhoenixConnection(Section):
    """An Arize Phoenix server."""

    kind: Literal["phoenix"]
    base_url: str = "http://127.0.0.1:6006"
    api_key_env: str = "PHOENIX_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=30)
    page_size: int = Field(default=1000, ge=1, le=1000)
    settle: Duration = timedelta(seconds=30)
    open_parent: Duration = timedelta(minutes=15)
    report_look_back: Duration = timedelta(days=90)
    max_metadata_bytes: int = Field(default=1_000_000, ge=1_000)


class LangSmithConnection(Section):
    """LangSmith, hosted or self-hosted."""

    kind: Literal["langsmith"]
    base_url: str = "https://api.smith.langchain.com"
    workspace_id: str | None = None
    api_key_env: str = "LANGSMITH_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=60)
    queries_per_second: float = Field(default=1.0, gt=0)
    calls_per_second: float = Field(default=20.0, gt=0)
    page_size: int = Field(default=1000, ge=1, le=1000)
    settle: Duration = timedelta(seconds=10)
    open_run: Duration = timedelta(hours=1)
    ingest_grace: Duration = timedelta(hours=1)
    extend_trace_retention: bool = False
    max_value_bytes: int = Field(default=200_000, ge=1_000)
    review_queue: str | None = None


class FilesConnection(Section):
    """Exported traces in files, and annotations written beside them."""

    kind: Literal["files"]
    paths: tuple[str, ...]
    output: Path = Path("annotations.jsonl")
    project: str = "default"
    settle: Duration = timedelta(seconds=30)
    open_run: Duration = timedelta(minutes=15)


Connection = Annotated[PhoenixConnection | LangSmithConnection | FilesConnection, Field(discriminator="kind")]
DEFAULT_CONNECTIONS: Mapping[str, PhoenixConnection | LangSmithConnection | FilesConnection] = {
    "phoenix": PhoenixConnection(kind="phoenix")
}


class ReportRule(Section):
    """Which user reports choose a trace: all given conditions must hold."""

    name: str  # annotation name or feedback key; without it other evaluators' scores would count as reports
    labels: tuple[str, ...] = ()
    max_score: float | None = None


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class SpanRule(Section):
    """A trace counts when one of its spans meets all given conditions."""

    kind: Annotated[SpanKind | None, BeforeValidator(_upper)] = None
    name: str | None = None
    status: Literal["OK", "ERROR", "UNSET"] | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    min_latency: Duration | None = None
    tag: str | None = None
    filter: str | None = None


class Policy(Section):
    """What happens to a verdict."""

    route: Literal["write", "review", "both"] = "write"
    review_below: Share | None = None  # None: 0.9 when the risk level is high, else never
    review_failures: bool = True


class Rule(Section):
    """One reason to look at a trace."""

    name: str
    reports: tuple[ReportRule, ...] = ()
    where: SpanRule = SpanRule()
    rate: Share = 1.0
    max_per_stratum: int | None = Field(default=None, ge=1)
    stratum: str | None = None
    policy: Policy | None = None  # None: that of the job


DEFAULT_RULES = (
    Rule(
        name="reported",
        reports=(
            ReportRule(name="user_feedback", labels=("thumbs-down",)),
            ReportRule(name="user_feedback", max_score=0),
        ),
    ),
    Rule(name="sampled", rate=0.1),
)


class Paths(Section):
    """Where a home-made trace shape keeps its parts; each given path overrides the extraction rules."""

    question: str | None = None
    answer: str | None = None
    documents: str | None = None
    document_text: str | None = None
    document_id: str | None = None
    documents_span: str | None = None  # name of the span that holds the documents


class JudgeChoice(Section):
    """A judge of a job, when it runs, and what is particular to it."""

    judge: JudgeName
    when: tuple[Condition, ...] = ()  # all must hold; empty: always, and consistency from two documents on
    engine: EngineName | None = None  # None: the engine of the config
    prompt: str | None = None  # None: openai.prompts
    focus: tuple[FocusSite, ...] = get_args(FocusSite)  # faithfulness: what it looks at hard

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: object) -> object:
        return {"judge": given} if isinstance(given, str) else given

    @field_validator("when", mode="before")
    @classmethod
    def _one_or_more(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given


class SecondCheck(Section):
    """Who looks again at what a model found."""

    by: tuple[Literal["local", "model"], ...] = ("local",)  # empty: nobody
    model: str | None = None  # of the check by a model; None: openai.model
    prompt: str = "faithfulness@v2"  # of the check by a model
    stricter_wins: bool = True  # where two models disagree, the stricter reading counts
    require_agreement: bool = False  # only findings that a second check confirms are written as confirmed


class Budget(Section):
    """Caps on what models may cost, in the currency of the prices; None: no cap."""

    per_run: float | None = Field(default=None, gt=0)
    per_day: float | None = Field(default=None, gt=0)


class JobBudget(Budget):
    """Caps of one job, beside those of the whole config."""

    max_traces: int | None = Field(default=None, ge=1)  # of one run


class Schedule(Section):
    """When `enricher schedule` runs a job: by a crontab line or at an interval."""

    cron: str | None = "0 2 * * *"
    every: Duration | None = None
    timezone: str = "UTC"  # of the crontab line
    grace: Duration = timedelta(hours=6)

    @model_validator(mode="before")
    @classmethod
    def _one_of_two(cls, given: object) -> object:
        if not isinstance(given, dict) or "every" not in given or given["every"] is None:
            return given
        if given.get("cron") is not None:
            raise ValueError("give either cron or every, not both")
        return {**given, "cron": None}

    @field_validator("cron")
    @classmethod
    def _is_a_crontab_line(cls, line: str | None) -> str | None:
        if line is not None:
            # Takes a twentieth of a second to import; only those who schedule jobs should pay.
            from enricher.timetable import check_line

            check_line(line)
        return line

    @field_validator("every")
    @classmethod
    def _is_some_time(cls, interval: timedelta | None) -> timedelta | None:
        if interval is not None and interval < timedelta(seconds=1):
            raise ValueError("must be at least 1s")
        return interval

    @field_validator("timezone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            hint = _did_you_mean(name, available_timezones())
            raise ValueError(f"there is no time zone '{name}'{hint}") from None
        return name

    @model_validator(mode="after")
    def _is_ever_due(self) -> Self:
        if self.cron is None and self.every is None:
            raise ValueError("give cron or every; a job without a schedule has schedule: null")
        return self


class Job(Section):
    """What to pull, how to judge it, and where the results go."""

    connection: str = "phoenix"
    projects: tuple[str, ...] | Literal["all"] = ("default",)
    rules: tuple[Rule, ...] = DEFAULT_RULES
    judges: tuple[JudgeChoice, ...] = (JudgeChoice(judge="diff"),)
    second_check: SecondCheck = SecondCheck()
    risk_level: RiskLevel = "normal"
    policy: Policy = Policy()
    budget: JobBudget = JobBudget()
    schedule: Schedule | None = None
    first_window: Duration = timedelta(hours=24)
    look_back: Duration = timedelta(minutes=30)
    give_up_after: Duration = timedelta(hours=24)
    annotation_prefix: str = ""
    citation_base: Literal[0, 1] | None = None
    additional_constraints: str = ""
    examples: str = ""
    paths: Paths = Paths()

    @field_validator("rules")
    @classmethod
    def _names_are_unique(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        names = [rule.name for rule in rules]
        if len(set(names)) != len(names):
            raise ValueError("two rules have the same name")
        return rules

    @field_validator("judges")
    @classmethod
    def _judges_are_unique(cls, judges: tuple[JudgeChoice, ...]) -> tuple[JudgeChoice, ...]:
        names = [choice.judge for choice in judges]
        if len(set(names)) != len(names):
            raise ValueError("a judge is named twice")
        return judges


class PromptNames(Section):
    """Which prompt each judge uses on a model."""

    diff: str = "diff@v2"
    faithfulness: str = "faithfulness@v2"
    halves: str = "halves@v1"
    consistency: str = "consistency@v1"
    pairwise: str = "pairwise@v1"


class ModelPrice(Section):
    """Money for a million tokens of one model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    prompt: float = Field(ge=0, alias="in")
    cached: float | None = Field(default=None, ge=0)
    completion: float = Field(ge=0, alias="out")


class Fallback(Section):
    """Another endpoint, or another key, for the same model."""

    base_url: str
    model: str | None = None  # how this endpoint names the model; None: as openai.model does
    api_key_env: str = "OPENAI_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    api_version: str | None = None


class Batch(Section):
    """How calls are collected into batch files."""

    collect: Duration = timedelta(seconds=20)
    poll: Duration = timedelta(seconds=30)
    max_calls: int = Field(default=10_000, ge=1, le=50_000)
    traces: int = Field(default=2000, ge=1)
    live_after: Duration | None = None
    tries: int = Field(default=3, ge=1)
    price_factor: Share = 0.5


class OpenAISettings(Section):
    """A model behind any OpenAI-compatible endpoint."""

    base_url: str = "https://api.openai.com/v1"
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    api_key: SecretStr | None = None  # filled from the environment variable, never from the file
    api_version: str | None = None
    prompts: PromptNames = PromptNames()
    max_tokens: int = Field(default=2048, ge=64)
    context_window: int | None = Field(default=None, ge=512)
    timeout: Duration = timedelta(seconds=60)
    deadline: Duration = timedelta(seconds=300)
    deadline_per_trace: Duration | None = None
    patience: Duration = timedelta(seconds=60)
    attempts: int = Field(default=4, ge=1, le=20)
    concurrency: int = Field(default=16, ge=1, le=1024)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    fallbacks: tuple[Fallback, ...] = ()
    transport: Literal["live", "batch"] = "live"
    batch: Batch = Batch()
    seed: int | None = None
    price_in: float = Field(default=0.0, ge=0)
    price_cached: float | None = Field(default=None, ge=0)
    price_out: float = Field(default=0.0, ge=0)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)


class Compare(Section):
    """How two answers from the same context are compared."""

    engine: EngineName | None = None  # None: the engine of the config
    dimensions: tuple[DimensionName, ...] = Field(default=get_args(DimensionName), min_length=1)
    both_orders: Share = 0.2  # share of the pairs that are judged in both orders
    min_confidence: Share = 0.7  # below it people decide
    attempts: int = Field(default=3, ge=2, le=3)  # of an invalid verdict, before people decide
    risk_level: RiskLevel = "normal"
    additional_constraints: str = ""
    examples: str = ""


class Serve(Section):
    """Where `enricher serve` listens, and the secret of its webhooks."""

    host: str = "127.0.0.1"
    port: int = Field(default=8330, ge=0, le=65535)
    secret_env: str = "ENRICHER_SERVE_SECRET"
    secret: SecretStr | None = None  # filled from the environment variable, never from the file
    body_limit: int = Field(default=1_000_000, ge=1_000)


class Health(Section):
    """Where `enricher schedule` tells how it is."""

    host: str = "127.0.0.1"
    port: int = Field(default=8331, ge=0, le=65535)


class Privacy(Section):
    """What nobody may see, how long raw replies are kept, and where a confined process may connect to."""

    redact: tuple[Literal["email", "phone", "card", "national_id", "iban"], ...] = ()
    patterns: dict[str, str] = Field(default_factory=dict)
    fields: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    secret_env: str = "ENRICHER_REDACTION_SECRET"
    secret: SecretStr | None = None  # filled from the environment variable, never from the file
    keep_raw_replies: Duration | None = None
    allowed_hosts: tuple[str, ...] = ()

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            try:
                is_empty = re.compile(pattern).match("") is not None
            except re.error as error:
                raise ValueError(f"'{name}' is no regular expression: {error}") from None
            if is_empty:
                raise ValueError(f"'{name}' matches the empty text")
        return patterns

    @field_validator("allowed_hosts")
    @classmethod
    def _name_ports(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not re.fullmatch(r"(?:\[[0-9A-Fa-f:]+\]|[^\s/:\[\]]+):\d{1,5}", host):
                raise ValueError(f"write '{host}' as host:port, for example storage.example.com:443")
        return hosts


class Dask(Section):
    """The cluster of `executor: dask`."""

    scheduler: str = ""  # such as tcp://scheduler:8786
    shard_size: int = Field(default=25, ge=1, le=1000)
    lost_after: Duration = timedelta(seconds=60)


class Telemetry(Section):
    """Where the product's own spans and figures go, by OTLP over HTTP; nowhere unless an endpoint is named."""

    endpoint: str | None = None
    traces: bool = True
    metrics: bool = True
    project: str = "trace-enricher"
    into_judged_project: bool = False
    texts: bool = False
    headers_env: str = "ENRICHER_OTLP_HEADERS"
    headers: SecretStr | None = None  # filled from the environment variable, never from the file
    timeout: Duration = timedelta(seconds=10)

    @field_validator("endpoint")
    @classmethod
    def _is_a_url(cls, endpoint: str | None) -> str | None:
        if endpoint is not None and not re.match(r"https?://[^/\s]", endpoint):
            raise ValueError(f"'{endpoint}' is no http(s) URL; write it like http://localhost:4318")
        return endpoint


class Webhook(Section):
    """Who is told of an alert, and in whose form."""

    url: str | None = None
    url_env: str | None = None  # where the URL itself is a secret, as Slack's are
    form: Literal["slack", "generic"] = "generic"
    secret_env: str | None = None  # signs the generic form
    secret: SecretStr | None = None  # the secret's value, filled from the variable
    secret_url: SecretStr | None = None  # the URL's value, filled from the variable

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("give either url or url_env")
        return self


class Alerts(Section):
    """When people are told that the rates of a job have moved; null: never."""

    window: int = Field(default=1, ge=1, le=1000)
    min_items: int = Field(default=20, ge=1)
    unsupported: Share | None = None
    contradicted: Share | None = None
    failed: Share | None = None
    rejected: Share | None = None
    drift: Share | None = None
    drift_runs: int = Field(default=14, ge=2, le=1000)
    webhooks: tuple[Webhook, ...] = ()


class Settings(Section):
    """Everything that can be configured; `config/default.yaml` explains each key."""

    store: str = "sqlite:///trace-enricher.db"
    engine: EngineName = "local"
    openai: OpenAISettings = OpenAISettings()
    budget: Budget = Budget()
    prompt_folders: tuple[Path, ...] = ()
    concurrency: int = Field(default=32, ge=1, le=1024)
    executor: Literal["local", "dask"] = "local"
    dask: Dask = Dask()
    report_url: str | None = None
    logs: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    log_texts: bool = False
    local_only: bool = False
    privacy: Privacy = Privacy()
    telemetry: Telemetry = Telemetry()
    alerts: Alerts = Alerts()
    serve: Serve = Serve()
    health: Health = Health()
    compare: Compare = Compare()
    connections: dict[str, Connection] = Field(default_factory=lambda: dict(DEFAULT_CONNECTIONS))
    jobs: dict[str, Job] = Field(default_factory=lambda: {"nightly": Job(schedule=Schedule())})


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the config file (or the defaults when there is none) and the environment.

    `ENRICHER_STORE`, `ENRICHER_ENGINE`, `ENRICHER_OPENAI__MODEL` and the like override the file; two underscores go
    one level down. Secrets come from the variables that the `api_key_env` keys name.

    Raises:
        SetupError: names every problem of the file at once.
    """
    environment = os.environ if environment is None else environment
    document = _read(path) if path is not None else {}
    advice = "secrets are not read from the file; set the environment variable that api_key_env names"
    problems = [f"{where}: {advice}" for where in _secrets_in(document)]
    _override(document, environment)
    settings = None
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        problems += [_sentence(e) for e in error.errors()]
    problems += _misfits(document)
    problems += _conflicts(settings) if settings is not None else ()
    if problems or settings is None:
        name = path or "the environment"
        raise SetupError(f"{name} has {len(problems)} problem{'s' * (len(problems) != 1)}:\n  " + "\n  ".join(problems))
    settings = with_secrets(settings, environment)
    _require_addresses(settings.alerts.webhooks)
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(f"the config file {path} can't be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise SetupError(f"the config file {path} is no valid YAML: {' '.join(str(error).split())}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SetupError(f"the config file {path} must hold keys and values, such as 'engine: local'")
    return document


def _secrets_in(node: object, where: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            place = f"{where}.{key}" if where else str(key)
            if isinstance(value, str) and _SECRET_KEYS.search(str(key)):
                yield place
            yield from _secrets_in(value, place)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _secrets_in(value, f"{where}.{number}")


def _override(document: dict[str, Any], environment: Mapping[str, str]) -> None:
    for variable, text in environment.items():
        if not variable.startswith("ENRICHER_"):
            continue
        *parents, last = variable.removeprefix("ENRICHER_").lower().split("__")
        if (parents or [last])[0] not in Settings.model_fields:
            continue  # secrets, and whatever else uses the prefix
        node = document
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}  # absent, or left empty in the file
            node = node[parent]
        node[last] = yaml.safe_load(text)


def _misfits(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what no single key shows; works on the raw document, so that it is reported beside other problems."""
    connections = document.get("connections", {"phoenix": {}})
    jobs = document.get("jobs", {})
    if isinstance(jobs, dict) and isinstance(connections, dict):
        for name, job in jobs.items():
            wanted = job.get("connection", "phoenix") if isinstance(job, dict) else "phoenix"
            if wanted not in connections:
                hint = _did_you_mean(str(wanted), connections) or f"; there is {', '.join(map(str, connections))}"
                yield f"jobs.{name}.connection: there is no connection '{wanted}'{hint}"
    model = document.get("openai", {})
    yield from _leaks(document)
    if document.get("engine") == "openai" and not (isinstance(model, dict) and model.get("model")):
        yield "openai.model: name the model, since engine is openai"


def _leaks(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what calls out although `local_only` forbids it."""
    if document.get("local_only") is not True:
        return
    jobs = document.get("jobs")
    sections = {"": document, "compare": document.get("compare")}
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        judges = job.get("judges") if isinstance(job, dict) else None
        choices = enumerate(judges) if isinstance(judges, list) else ()
        sections |= {f"jobs.{name}.judges.{number}": choice for number, choice in choices}
    for where, section in sections.items():
        if isinstance(section, dict) and section.get("engine") == "openai":
            place = f"{where}.engine" if where else "engine"
            yield f"{place}: local_only allows no call but to the platform; use local, or take local_only out"


def without_secrets(section: Any) -> Any:
    """Return settings as they may travel: who receives them adds the secrets of its own environment."""
    if isinstance(section, Section):
        return section.model_copy(update={name: without_secrets(value) for name, value in section})
    if isinstance(section, SecretStr):
        return None
    if isinstance(section, dict):
        return {key: without_secrets(value) for key, value in section.items()}
    return tuple(map(without_secrets, section)) if isinstance(section, tuple) else section


def with_secrets(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """Fill in the secrets from the environment variables that the settings name."""

    def secret(section: Any) -> Any:
        value = environment.get(section.api_key_env)
        return section.model_copy(update={"api_key": SecretStr(value)}) if value else section

    model = secret(settings.openai)
    model = model.model_copy(update={"fallbacks": tuple(secret(fallback) for fallback in model.fallbacks)})
    connections = {name: secret(c) if hasattr(c, "api_key_env") else c for name, c in settings.connections.items()}
    webhooks = environment.get(settings.serve.secret_env)
    serve = settings.serve.model_copy(update={"secret": SecretStr(webhooks)}) if webhooks else settings.serve
    masks = environment.get(settings.privacy.secret_env)
    privacy = settings.privacy.model_copy(update={"secret": SecretStr(masks)}) if masks else settings.privacy
    headers = environment.get(settings.telemetry.headers_env)
    telemetry = settings.telemetry.model_copy(update={"headers": SecretStr(headers)}) if headers else settings.telemetry
    hooks = tuple(_with_address(hook, environment) for hook in settings.alerts.webhooks)
    alerts = settings.alerts.model_copy(update={"webhooks": hooks})
    found = {"connections": connections, "openai": model, "serve": serve, "privacy": privacy}
    found |= {"telemetry": telemetry, "alerts": alerts}
    return settings.model_copy(update=found)


def _with_address(hook: Webhook, environment: Mapping[str, str]) -> Webhook:
    named = {"secret": hook.secret_env, "secret_url": hook.url_env}
    found = {key: SecretStr(environment[name]) for key, name in named.items() if name and environment.get(name)}
    return hook.model_copy(update=found)


def _require_addresses(hooks: Sequence[Webhook]) -> None:
    """Refuse a webhook whose variables are not set; workers elsewhere tell nobody and need none."""
    for number, hook in enumerate(hooks):
        for name, value in ((hook.url_env, hook.secret_url), (hook.secret_env, hook.secret)):
            if name and value is None:
                raise SetupError(f"alerts.webhooks.{number}: set the environment variable {name}")


def _conflicts(settings: Settings) -> Iterator[str]:
    """Yield what no single section shows of valid settings."""
    endpoint = settings.telemetry.endpoint
    places = {place_of(c.base_url): name for name, c in settings.connections.items() if hasattr(c, "base_url")}
    if endpoint is not None and not settings.telemetry.into_judged_project:
        project = settings.telemetry.project
        for name, job in settings.jobs.items():
            is_there = places.get(place_of(endpoint)) == job.connection
            if is_there and (job.projects == "all" or project in job.projects):
                yield (
                    f"telemetry.project: job {name} judges '{project}' on the same server, and so its own spans; name "
                    "another project, list the job's projects, or set telemetry.into_judged_project"
                )
    if not settings.local_only:
        return
    allowed = {*places, *(f"{host}".lower() for host in settings.privacy.allowed_hosts)}
    if endpoint is not None and place_of(endpoint) not in allowed:
        yield "telemetry.endpoint: local_only allows no call but to the platform; take one of them out"
    for number, hook in enumerate(settings.alerts.webhooks):
        if hook.url is None or place_of(hook.url) not in allowed:
            yield (
                f"alerts.webhooks.{number}: local_only allows no call but to the platform; take it out, or name its "
                "host in privacy.allowed_hosts"
            )


def place_of(url: str) -> str:
    """Return host:port of a URL."""
    parts = urlsplit(url.strip())
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    return f"{host}:{parts.port or {'http': 80, 'https': 443}.get(parts.scheme, 0)}"


def _sentence(error: Any) -> str:
    # A union by kind adds the kind to the path, which nobody wrote there.
    known = [str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in _connection_kinds()]
    where = ".".join(str(part) for number, part in enumerate(error["loc"]) if not (number == 2 and part in known))
    if error["type"].startswith("union_tag"):
        wrong = error["input"].get("kind") if isinstance(error["input"], dict) else None
        return f"{where}.kind: use one of {', '.join(sorted(known))}" + (f", not {wrong!r}" if wrong else "")
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown key{_did_you_mean(str(error['loc'][-1]), _known_keys())}"
    if error["type"] == "literal_error":
        allowed = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        hint = _did_you_mean(str(error["input"]), allowed)
        return f"{where}: '{error['input']}' is not known{hint}; use one of {', '.join(allowed)}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if not where:
        return message
    return f"{where}: {message}" + ("" if error["type"] == "value_error" else f", not {error['input']!r}")


def _did_you_mean(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, [str(k) for k in known], n=1, cutoff=0.4)
    return f"; did you mean '{close[0]}'?" if close else ""


def _known_keys() -> set[str]:
    found: set[str] = set()
    ours: tuple[type[Section], ...] = (
        Settings,
        OpenAISettings,
        Fallback,
        Batch,
        ModelPrice,
        JobBudget,
        Serve,
        Health,
        Privacy,
        Telemetry,
        Alerts,
        Webhook,
        Schedule,
        Job,
        Rule,
        ReportRule,
        SpanRule,
        Policy,
        Paths,
        JudgeChoice,
        SecondCheck,
        PromptNames,
        Compare,
        Dask,
    )
    for section in (*ours, *_connection_kinds()):
        found |= set(section.model_fields)
    return found


def _connection_kinds() -> tuple[type[BaseModel], ...]:
    union, _ = get_args(Connection)
    kinds: tuple[type[BaseModel], ...] = get_args(union)
    return kinds
