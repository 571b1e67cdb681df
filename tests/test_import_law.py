"""The import law of the house: each row imports only rows below it and its own room."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the top down. A room is a module or a package; neighbours in a row do not know one another.
ROWS: tuple[tuple[str, ...], ...] = (
    ("enricher.cli",),
    ("enricher.commands",),
    ("enricher.demo",),
    ("enricher.serve",),
    ("enricher.health", "enricher.examination"),
    (
        "enricher.review",
        "enricher.schedule",
        "enricher.comparing",
        "enricher.datasets",
        "enricher.measuring",
    ),
    ("enricher.app", "enricher.judging"),
    (
        "enricher.doctor",
        "enricher.starter",
        "enricher.workers",
        "enricher.connecting",
        "enricher.extracting",
        "enricher.conclusion",
        "enricher.measure",
    ),
    ("enricher.run", "enricher.panel", "enricher.records", "enricher.compare"),
    (
        "enricher.choosing",
        "enricher.counting",
        "enricher.wiring",
        "enricher.privacy",
        "enricher.alerts",
        "enricher.reporting",
        "enricher.metrics",
    ),
    ("enricher.delivery", "enricher.handling"),
    (
        "enricher.story",
        "enricher.metering",
    ),
    ("enricher.pipeline", "enricher.report"),
    (
        "enricher.steps",
        "enricher.judges",
        "enricher.grounding",
        "enricher.store",
        "enricher.executors",
        "enricher.telemetry",
        "enricher.phoenix_server",
        "enricher.links",
        "enricher.webhooks",
        "connectors",
    ),
    (
        "enricher.seams",
        "enricher.settings",
        "enricher.prompts",
        "enricher.progress",
        "enricher.traffic",
        "enricher.trust",
    ),
    ("enricher.trace", "enricher.verdict", "enricher.timetable", "enricher.rates"),
    ("enricher.results",),
    ("enricher.resources", "enricher.listening", "enricher.confinement", "enricher.logs"),
    (
        "enricher.errors",
        "enricher.folding",
        "enricher.lazy",
        "enricher.wording",
        "enricher.printing",
        "enricher.interpreter",
    ),
)
# A row may know its neighbour only where this says so.
NEIGHBOURS = {
    ("enricher.judges", "enricher.grounding"),
}


def _room(module: str) -> str | None:
    rooms = [room for row in ROWS for room in row if module == room or module.startswith(room + ".")]
    return max(rooms, key=len, default=None)


def _row(room: str) -> int:
    return next(number for number, row in enumerate(ROWS) if room in row)


def _modules() -> list[tuple[str, Path]]:
    files = [*ROOT.glob("enricher/**/*.py"), *ROOT.glob("connectors/**/*.py")]
    return [(".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), f) for f in sorted(files)]


def _imports(path: Path) -> list[tuple[int, str, bool]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, node.module or "", node.level > 0))
            found += [(node.lineno, f"{node.module}.{alias.name}", False) for alias in node.names if not node.level]
    return found


@pytest.mark.parametrize(("module", "path"), _modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_module_imports_only_lower_rows_and_its_own_room(module, path):
    if module == "enricher":
        return
    room = _room(module)
    assert room is not None, f"{module} stands in no row of the import law"
    for line, target, is_relative in _imports(path):
        assert not is_relative, f"{path}:{line} imports relatively"
        other = _room(target)
        if other is None or other == room or (room, other) in NEIGHBOURS:
            continue
        assert _row(other) > _row(room), f"{path}:{line}: {room} must not import {other}"


def test_there_is_no_import_cycle():
    graph: dict[str, set[str]] = {}
    names = {name for name, _ in _modules()}
    for module, path in _modules():
        targets = {target for _, target, _ in _imports(path) if target in names}
        # `from package import module` means the module, not what the package's table of names imports.
        packages = {target for target in targets if any(other.startswith(target + ".") for other in targets)}
        graph[module] = targets - packages - {module, "enricher"}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"import cycle: {' -> '.join((*trail, module))}"
        if module not in done:
            for target in graph[module]:
                visit(target, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())
