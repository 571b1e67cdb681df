"""The benchmarks say what they measure, and what they call right is right."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = sorted(ROOT.glob("benchmarks/*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_each_benchmark_says_what_it_measures(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_a_run_with_a_faulty_model_loses_nothing_and_gets_every_verdict_right():
    command = [sys.executable, "benchmarks/model_speed.py", "--traces", "60", "--in-flight", "16", "--latency", "0.02"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head[-3:] == ["right", "wrong", "lost"]
    assert [(row[0], row[2], row[-3:]) for row in rows] == [
        (name, faults, ["60", "0", "0"]) for faults in ("no", "yes") for name in ("floor", "product")
    ]


def test_a_run_under_a_limit_gets_every_verdict_right():
    command = [sys.executable, "benchmarks/model_speed.py", "--traces", "60", "--in-flight", "16", "--latency", "0.02"]
    command += ["--bucket", "100", "--burst", "20", "--retry-after-ms"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head[-3:] == ["right", "wrong", "lost"]
    assert [(row[0], int(row[4]) - int(row[5]), row[-3:]) for row in rows] == [
        (name, 60, ["60", "0", "0"]) for name in ("floor", "product")
    ]
