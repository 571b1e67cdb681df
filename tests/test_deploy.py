"""The files for systemd, Kubernetes and Docker: they parse, and name only what exists."""

import configparser
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from enricher.cli import cli
from enricher.settings import Settings
from enricher.timetable import check_line

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "config" / "deploy"
UNITS = sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")])


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = (line for line in joined.splitlines() if line and not line.startswith("#"))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = [[]]  # before the first stage stands what all of them may name
    for word, rest in instructions((DEPLOY / "Dockerfile").read_text()):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found[1:]


def called_with(args: list[str]) -> None:
    """Read arguments as the command does, without doing anything."""
    command = get_command(cli)
    chosen = command.commands[args[0]]
    chosen.make_context(args[0], args[1:])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_the_units(unit, tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # The command stands where the units expect it only on a real host.
    for source in UNITS:
        (tmp_path / source.name).write_text(source.read_text().replace("/opt/trace-enricher/bin/enricher", "/bin/true"))
    checked = subprocess.run([analyze, "verify", tmp_path / unit.name], capture_output=True, text=True, check=False)
    ours = [line for line in checked.stderr.splitlines() if "trace-enricher" in line]
    assert (ours, checked.returncode) == ([], 0)


@pytest.mark.parametrize("unit", sorted(DEPLOY.glob("*.service")), ids=lambda unit: unit.name)
def test_the_units_call_what_exists_as_an_ordinary_user_and_give_time_to_stop(unit):
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str
    parsed.read_string(unit.read_text())
    service = parsed["Service"]
    program, *args = service["ExecStart"].split()
    assert Path(program).name == "enricher"
    called_with(args)
    assert service["User"] not in ("", "root")
    assert service["KillSignal"] == "SIGTERM"
    assert service["TimeoutStopSec"] == "15min"


def test_the_cron_job_runs_once_at_a_time_at_night_as_an_ordinary_user():
    config_map, job = yaml.safe_load_all((DEPLOY / "kubernetes-cronjob.yaml").read_text())
    spec = job["spec"]
    assert (job["kind"], job["apiVersion"]) == ("CronJob", "batch/v1")
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] == 6 * 3600
    check_line(spec["schedule"])
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"  # a pod failure policy wants it
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    called_with(container["args"])
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["volumes"]}
    (rule,) = spec["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert Settings.model_validate(yaml.safe_load(config_map["data"]["enricher.yaml"])).jobs.keys() == {"nightly"}


def test_the_image_is_built_from_what_is_there():
    build = stages()[0]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    sources = [source for word, rest in build if word == "COPY" for source in rest.split()[:-1]]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source
    needed = {"enricher", "connectors", "prompts", "config", "pyproject.toml", "README.md", "LICENSE"}
    assert needed <= set(sources)


def test_the_image_runs_as_an_ordinary_user_without_build_tools():
    final = stages()[-1]
    words = dict(final)
    assert len(stages()) == 2
    assert int(words["USER"].split(":")[0]) > 0
    runs = " ".join(rest for word, rest in final if word == "RUN")
    assert not re.search(r"apt|gcc|build-essential|pip install", runs)
    assert "pip uninstall" in runs
    assert words["COPY"].startswith("--from=build ")
    assert json.loads(words["ENTRYPOINT"]) == ["enricher"]
    called_with(json.loads(words["CMD"]))


def test_the_health_check_of_the_image_asks_where_the_schedule_answers():
    words = dict(stages()[-1])
    check = json.loads(words["HEALTHCHECK"].partition("CMD ")[2])
    assert f"http://127.0.0.1:{Settings().health.port}/health" in check[-1]
    failed = subprocess.run([sys.executable, *check[1:]], capture_output=True, check=False)
    assert failed.returncode == 1  # nobody answers here


def test_the_timer_and_the_default_schedule_mean_the_same_hour():
    timer = (DEPLOY / "trace-enricher-run.timer").read_text()
    assert "OnCalendar=*-*-* 02:00:00 UTC" in timer
    times = Settings().jobs["nightly"].schedule
    assert (times.cron, times.timezone) == ("0 2 * * *", datetime.now(UTC).tzname())
