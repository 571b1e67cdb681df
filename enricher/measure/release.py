"""Release a prompt: only what passed a regression on the golden set, as it is now, becomes immutable."""

from collections.abc import Sequence
from pathlib import Path

from enricher.errors import SetupError
from enricher.measure.baseline import baseline_path, read_accepted
from enricher.measure.golden import GoldenSet
from enricher.measure.regression import Accepted
from enricher.prompts import PromptFile, files_of, load
from enricher.prompts import release as make_immutable


def release(name: str, golden: GoldenSet, folders: Sequence[Path] = ()) -> tuple[list[PromptFile], Accepted]:
    """Release a prompt with the parts that it is made of; return the files and the regression that this rests on.

    Raises:
        SetupError: it is released already, or has no accepted regression on this golden set.
    """
    # Those that are released stay as they are: they may be parts of other prompts.
    new = [file for file in files_of(name, folders) if not file.is_released]
    if not any(file.name == name for file in new):
        raise SetupError(f"{name} is released already")
    entry = _passed(name, golden, load(name, folders=folders).fingerprint)
    make_immutable(
        new,
        {
            "golden": golden.path.name,
            "golden_digest": entry.golden,
            "at": entry.at,
            "model": entry.setting.model,
            "snapshot": entry.setting.snapshot,
            "items": entry.items,
            "agreement": entry.agreement,
            "regressions": entry.regressions,
            "failed": entry.failed,
        },
    )
    return new, entry


def _passed(name: str, golden: GoldenSet, fingerprint: str) -> Accepted:
    judge = name.partition("@")[0]
    advice = f"run `enricher regress --golden {golden.path} --prompt {name} --accept`"
    mine = [entry for entry in read_accepted(golden.path) if entry.setting.prompt == name]
    if not mine:
        raise SetupError(f"{name} has no accepted regression in {baseline_path(golden.path)}; {advice}")
    # Of a prompt before which another one is asked, the judge names both.
    same = [entry for entry in mine if (entry.setting.prompt_hash or "").partition("+")[0] == fingerprint]
    if not same:
        changed = "it was changed since, or was run with the additions of a job"
        raise SetupError(f"the accepted regression of {name} is not of this text: {changed}; {advice}")
    if same[-1].golden != golden.digest(judge):
        raise SetupError(f"{golden.path} was changed since the accepted regression of {name}; {advice}")
    return same[-1]
