"""What no single key shows: parts of the config that do not fit one another."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from enricher.settings.problems import Place, Problem
from enricher.settings.root import Settings
from enricher.settings.values import did_you_mean


def misfits(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what no single key shows; works on the raw document, so that it is reported beside other problems."""
    connections = document.get("connections", {"phoenix": {}})
    jobs = document.get("jobs", {})
    if isinstance(jobs, dict) and isinstance(connections, dict):
        for name, job in jobs.items():
            wanted = job.get("connection", "phoenix") if isinstance(job, dict) else "phoenix"
            if isinstance(wanted, str) and wanted not in connections:
                hint = did_you_mean(wanted, connections) or f"; there is {', '.join(map(str, connections))}"
                yield Problem(("jobs", str(name), "connection"), f"there is no connection '{wanted}'{hint}")
    model = document.get("openai", {})
    yield from _leaks(document)
    if document.get("engine") == "openai" and not (isinstance(model, dict) and model.get("model")):
        yield Problem(("openai", "model"), "name the model, since engine is openai")
    detector = document.get("hub")
    detector = detector if isinstance(detector, dict) else {}
    if document.get("engine") == "hub" and not detector.get("model"):
        yield Problem(("hub", "model"), "name a detector or its folder, since engine is hub")
    if document.get("local_only") is True and detector.get("download") is True:
        yield Problem(("hub", "download"), "local_only allows no call but to the platform; take one of them out")


def _leaks(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what calls out although `local_only` forbids it."""
    if document.get("local_only") is not True:
        return
    jobs = document.get("jobs")
    sections: dict[Place, Any] = {(): document, ("compare",): document.get("compare")}
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        judges = job.get("judges") if isinstance(job, dict) else None
        choices = enumerate(judges) if isinstance(judges, list) else ()
        sections |= {("jobs", str(name), "judges", str(number)): choice for number, choice in choices}
    for where, section in sections.items():
        if isinstance(section, dict) and section.get("engine") == "openai":
            advice = "local_only allows no call but to the platform; use local, or take local_only out"
            yield Problem((*where, "engine"), advice)


def conflicts(settings: Settings) -> Iterator[Problem]:
    """Yield what no single section shows of valid settings."""
    endpoint = settings.telemetry.endpoint
    places = {place_of(c.base_url): name for name, c in settings.connections.items() if hasattr(c, "base_url")}
    if endpoint is not None and not settings.telemetry.into_judged_project:
        project = settings.telemetry.project
        for name, job in settings.jobs.items():
            is_there = places.get(place_of(endpoint)) == job.connection
            if is_there and (job.projects == "all" or project in job.projects):
                yield Problem(
                    ("telemetry", "project"),
                    f"job {name} judges '{project}' on the same server, and so its own spans; name another project, "
                    "list the job's projects, or set telemetry.into_judged_project",
                )
    if not settings.local_only:
        return
    allowed = {*places, *(f"{host}".lower() for host in settings.privacy.allowed_hosts)}
    if endpoint is not None and place_of(endpoint) not in allowed:
        yield Problem(("telemetry", "endpoint"), "local_only allows no call but to the platform; take one of them out")
    for number, hook in enumerate(settings.alerts.webhooks):
        if hook.url is None or place_of(hook.url) not in allowed:
            yield Problem(
                ("alerts", "webhooks", str(number)),
                "local_only allows no call but to the platform; take it out, or name its host in privacy.allowed_hosts",
            )


def place_of(url: str) -> str:
    """Return host:port of a URL."""
    parts = urlsplit(url.strip())
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    return f"{host}:{parts.port or {'http': 80, 'https': 443}.get(parts.scheme, 0)}"
