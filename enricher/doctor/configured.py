"""Look at what the config says and needs: variables, secrets, prompts, webhooks, extras."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from enricher.doctor.check import Check
from enricher.prompts import verify
from enricher.settings import Settings, place_of
from enricher.settings.secrets import Variable, variables
from enricher.settings.source import overrides
from enricher.settings.values import did_you_mean

_PREFIX = "ENRICHER_"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LIKE_A_VARIABLE = 0.75
_HOSTED = re.compile(r"https://api\.openai\.com|https://[^/]*\.azure\.com", re.IGNORECASE)


def check_config(settings: Settings, path: Path | None, environment: Mapping[str, str]) -> Check:
    """Say which config counts, what the environment overrides, and which variables mean nothing."""
    facts = {
        "file": str(path) if path else "none: the built-in defaults",
        "engine": settings.engine,
        "connections": ", ".join(f"{name} ({found.kind})" for name, found in settings.connections.items()),
        "jobs": ", ".join(settings.jobs),
    }
    overriding = sorted(overrides(environment))
    if overriding:
        facts["from the environment"] = ", ".join(overriding)
    return Check(name="config", ok=True, facts=facts, problems=tuple(_strangers(settings, environment, overriding)))


def check_secrets(settings: Settings) -> Check:
    """Say which secrets are there; what they are is never shown."""
    found = [variable for variable in variables(settings) if _is_used(settings, variable)]
    facts = {one.name: f"{'set' if one.is_set else 'not set'} ({'.'.join(one.place)})" for one in found}
    missing = [one for one in found if not one.is_set]
    needed = [f"set {one.name}: {why}" for one in missing if (why := _need(settings, one))]
    return Check(name="secrets", ok=not needed, facts=facts, problems=tuple(needed))


def check_prompts(settings: Settings) -> Check:
    """Say whether released prompts are what was released."""
    changed = verify(settings.prompt_folders)
    facts = {"released": "all unchanged"} if not changed else {}
    return Check(name="prompts", ok=not changed, facts=facts, problems=tuple(changed))


def check_webhooks(settings: Settings) -> Check:
    """Say who is told of alerts; nobody is told now."""
    facts, hints = {}, []
    for number, hook in enumerate(settings.alerts.webhooks):
        where = f"the address in {hook.url_env}" if hook.url_env else place_of(hook.url or "")
        facts[f"webhook {number}"] = f"{hook.form}, {where}{', signed' if hook.secret else ''}"
        if hook.form == "generic" and not hook.secret:
            hints.append(f"alerts.webhooks.{number}: nothing signs it; name a variable with a secret in secret_env")
    rates = ("unsupported", "contradicted", "failed", "rejected", "refused", "disputed", "shift", "drift")
    if facts and all(getattr(settings.alerts, rate) is None for rate in rates):
        hints.append(
            "no alert is ever raised but of scheduled jobs that fail or are missed: "
            f"give a threshold in alerts, such as {', '.join(rates)}"
        )
    return Check(name="alerts", ok=True, facts=facts or {"webhooks": "none"}, problems=tuple(hints))


def check_extras(settings: Settings) -> Check:
    """Say which optional parts are installed, and which the config needs and lacks."""
    extras = dict(sorted(_extras().items()))
    facts = {extra: "installed" if not lacking else f"lacks {', '.join(lacking)}" for extra, lacking in extras.items()}
    wanted = {
        "postgres": settings.store.startswith("postgres"),
        "dask": settings.executor == "dask",
        "hub": settings.engine == "hub",
        "telemetry": settings.telemetry.endpoint is not None,
    }
    problems = [
        f"the config needs it: pip install 'trace-enricher[{extra}]'"
        for extra, lacking in extras.items()
        if lacking and wanted.get(extra)
    ]
    return Check(name="extras", ok=not problems, facts=facts, problems=tuple(problems))


def _strangers(settings: Settings, environment: Mapping[str, str], overriding: list[str]) -> Iterator[str]:
    secrets = {variable.name for variable in variables(settings)}
    known = secrets | {_PREFIX + key.upper() for key in Settings.model_fields}
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in secrets and name not in overriding:
            hint = did_you_mean(name, known, likeness=_LIKE_A_VARIABLE)
            yield f"the environment variable {name} means nothing here{hint}"


def _is_used(settings: Settings, variable: Variable) -> bool:
    """Tell whether a part of the config that is in use would read a variable."""
    first = variable.place[0]
    if first == "openai":
        return _asks_models(settings)
    if first == "telemetry":
        return settings.telemetry.endpoint is not None
    return True


def _need(settings: Settings, variable: Variable) -> str:
    """Say why a variable must be set; an empty text where it need not."""
    first = variable.place[0]
    if first == "connections" and settings.connections[variable.place[1]].kind == "langsmith":
        return f"connection {variable.place[1]} has no key to LangSmith"
    if variable.place == ("openai", "api_key_env") and _HOSTED.match(settings.openai.base_url):
        return f"{settings.openai.base_url} answers only with a key"
    if variable.place == ("serve", "token_env") and settings.serve.host not in _LOOPBACK:
        return f"enricher serve does not listen on {settings.serve.host} without it"
    return ""


def _asks_models(settings: Settings) -> bool:
    engines = [settings.engine, settings.compare.engine]
    engines += [choice.engine for job in settings.jobs.values() for choice in job.judges]
    return "openai" in engines


def _extras() -> dict[str, list[str]]:
    """Return the optional parts of this distribution, each with the packages it lacks."""
    found: dict[str, list[str]] = {}
    for line in requires("trace-enricher") or ():
        match = re.match(r"([\w.-]+).*;.*extra == ['\"](\w+)['\"]", line)
        if match is None or match[2] == "dev":
            continue
        lacking = found.setdefault(match[2], [])
        if not _is_installed(match[1]):
            lacking.append(match[1])
    return found


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
