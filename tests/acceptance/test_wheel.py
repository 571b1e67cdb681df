"""The wheel: what it carries, and that it works from another folder than the one it was built in."""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.acceptance.command import ROOT, environment
from tests.acceptance.test_commands import BAD, GOOD, jsonl
from tests.servers.phoenix import CORPUS

SOURCES = ("enricher", "connectors", "prompts", "config", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel from a copy, since building may leave files behind."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif place.exists():
            shutil.copy(place, checkout / name)
    (checkout / "tests").mkdir()
    (checkout / "tests" / "__init__.py").touch()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", "dist"]
    subprocess.run([*pip, "wheel", *options, "."], cwd=checkout, check=True)
    (built,) = (checkout / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Install the wheel alone into a fresh environment that borrows its dependencies; return its `bin`."""
    place = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    (site_packages,) = (place / "lib").glob("python*/site-packages")
    # A path only: the .pth files in there, an editable install of this very project among them, are not read.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return place / "bin"


def test_the_wheel_carries_prompts_config_templates_and_demo_traces_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"enricher/_{folder}/{p.relative_to(ROOT / folder)}" for folder in ("prompts", "config")
               for p in (ROOT / folder).rglob("*") if p.is_file()}  # fmt: skip
    assert "enricher/_prompts/diff/v2.md" in shipped
    assert shipped <= names
    assert {"enricher/_config/default.yaml", "enricher/demo/traces.jsonl.gz"} <= names
    pages = ("static/htmx.min.js", "static/htmx.LICENSE", "static/enricher.css", "templates/trace.html")
    assert {f"enricher/serve/{page}" for page in pages} <= names
    assert {"enricher/templates/report.html", "enricher/store/migrations/env.py", "connectors/phoenix.py"} <= names
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"enricher", "connectors"}
    assert not [name for name in names if re.search(r"(^|/)(tests?|shared|__pycache__)/|\.(pyc|db)$", name)]
    metadata = zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("METADATA"))).decode()
    required = {line.split(": ")[1] for line in metadata.splitlines() if line.startswith("Requires-Dist")}
    core = {re.split(r"[^\w-]", requirement)[0] for requirement in required if "extra ==" not in requirement}
    assert core & {"torch", "pandas", "arize-phoenix", "pytest"} == set()


def test_an_installed_wheel_works_offline_from_any_folder(installed, tmp_path):
    def call(*args: str, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [installed / args[0], *args[1:]],
            cwd=tmp_path, env=environment(tmp_path), input=stdin, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    import_path = call("python", "-c", "import enricher, connectors; print(enricher.__file__, connectors.__file__)")
    assert str(ROOT) not in import_path.stdout
    judged = call("enricher", "judge", "-", stdin=jsonl(GOOD, BAD))
    assert [line.count('"faithfulness_score": 1.0') for line in judged.stdout.splitlines()] == [1, 0]
    assert "diff@v2" in call("enricher", "prompts", "list").stdout
    assert "unchanged" in call("enricher", "prompts", "verify").stdout
    (trace,) = CORPUS.glob("openai-prompt-only.json")
    assert '"valid": true' in call("enricher", "extract", str(trace)).stdout

    where = "from enricher.resources import folder; print(folder('config') / 'default.yaml')"
    reference = Path(call("python", "-c", where).stdout.strip())
    assert yaml.safe_load(reference.read_text())["engine"] == "local"
    told = call("enricher", "run", "nosuch", "--config", str(reference), code=2)
    assert told.stderr == "enricher: there is no job nosuch; the config has nightly\n"
    sent = "from enricher.demo.phoenix import samples; print(len(samples()))"
    assert int(call("python", "-c", sent).stdout) >= 18
