"""`python -m tests.chaos --seed 1 --scenarios 100`: play scenarios and say what broke, with how to see it again."""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.chaos.scenarios import Played, drawn, play
from tests.chaos.stage import opened_stage


def main() -> int:
    """Play, report, and return the exit code: 1 when an invariant broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="drawn when not given")
    parser.add_argument("--scenarios", type=int, default=40, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to see one again")
    parser.add_argument("--kind", default=None, help="only this kind of fault")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end, and nothing else")
    parser.add_argument("--keep", action="store_true", help="keep the folders of scenarios that broke something")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    began = time.monotonic()
    results = asyncio.run(_play_all(options))
    summary = _summary(options, results, time.monotonic() - began)
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print(_sentence(summary))
    return 1 if summary["broken"] else 0


async def _play_all(options: argparse.Namespace) -> list[Played]:
    results = []
    with opened_stage() as stage:
        for number in range(options.first, options.first + options.scenarios):
            scenario = drawn(options.seed, number, options.kind)
            folder = Path(tempfile.mkdtemp(prefix="chaos-"))
            try:
                played = await play(scenario, stage, folder)
            except Exception:
                # The others are still worth playing, and this one is no proof of anything.
                played = Played(scenario=scenario, seconds=0.0, violations=[f"not played: {traceback.format_exc()}"])
            results.append(played)
            if not (played.violations and options.keep):
                shutil.rmtree(folder, ignore_errors=True)
            if not options.json:
                _tell(options, number, played, folder)
    return results


def again(options: argparse.Namespace, number: int) -> str:
    """Return the command that plays one scenario again."""
    kind = f" --kind {options.kind}" if options.kind else ""
    return f"python -m tests.chaos --seed {options.seed} --first {number} --scenarios 1{kind}"


def _tell(options: argparse.Namespace, number: int, played: Played, folder: Path) -> None:
    scenario = played.scenario
    outcome = f"skipped: {played.skipped}" if played.skipped else "BROKEN" if played.violations else "held"
    where = f"{scenario.kind:8} {scenario.platform:9} {scenario.store:8} {scenario.engine:6} {scenario.runner:8}"
    figures = f"{played.seconds:5.1f} s {played.runs} runs {played.peak_mb:4.0f} MB"
    print(f"{number:4} {where} {figures} {outcome}", flush=True)
    if played.violations:
        for violation in played.violations:
            print(f"       {violation}", flush=True)
        print(f"       faults: {scenario.rounds}", flush=True)
        print(f"       again:  {again(options, number)}" + (f"  folder: {folder}" if options.keep else ""), flush=True)


def _summary(options: argparse.Namespace, results: list[Played], seconds: float) -> dict[str, Any]:
    broken = [played for played in results if played.violations]
    ran = [played for played in results if played.skipped is None]
    return {
        "seed": options.seed,
        "scenarios": len(ran),
        "skipped": dict(Counter(played.skipped for played in results if played.skipped)),
        "kinds": dict(Counter(played.scenario.kind for played in ran)),
        "runs": sum(played.runs for played in ran),
        "troubles": dict(sum((Counter(played.struck) for played in ran), Counter())),
        "seconds": round(seconds, 1),
        "longest_s": round(max((played.seconds for played in ran), default=0.0), 1),
        "peak_mb": round(max((played.peak_mb for played in ran), default=0.0)),
        "broken": [
            {
                "number": played.scenario.number,
                "again": again(options, played.scenario.number),
                "violations": played.violations,
                "scenario": json.loads(json.dumps(asdict(played.scenario), default=str)),
            }
            for played in broken
        ],
    }


def _sentence(summary: dict[str, Any]) -> str:
    broken = f"{len(summary['broken'])} broke an invariant"
    skipped = "".join(f"; {count} skipped: {reason}" for reason, count in summary["skipped"].items())
    return (
        f"seed {summary['seed']}: {summary['scenarios']} scenarios, {summary['runs']} runs of the product in "
        f"{summary['seconds']:.0f} s, at most {summary['peak_mb']} MB; {broken}{skipped}"
    )


if __name__ == "__main__":
    sys.exit(main())
