"""Tell how a candidate did: for the terminal, for machines, as JUnit XML and as Markdown for CI."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.errors import SetupError
from enricher.measure.regression import Change, ItemRow, JudgeRegression
from enricher.printing import number_of
from enricher.rates import share
from enricher.verdict import Noun, Usage

_SHOWN = 50  # items in the text and the summary; JSON and JUnit have all
_STYLES = {Change.REGRESSION: "bold red", Change.FAILED: "magenta", Change.IMPROVEMENT: "green"}
# What XML 1.0 can't hold, however it is escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&@])")


class Regression(Noun):
    """How a candidate did on a golden set."""

    golden: str  # path
    judges: tuple[JudgeRegression, ...]
    is_accepted: bool = False  # it is the baseline from now on
    usage: Usage = Usage()

    @property
    def is_measured(self) -> bool:
        """Tell whether every item was asked about: an endpoint that is out says nothing of the candidate."""
        return not any(judge.unmeasured for judge in self.judges)

    @property
    def passed(self) -> bool:
        """Tell whether the gate holds for every judge."""
        return all(judge.passed for judge in self.judges)


def headline(found: Regression) -> str:
    """Say in one sentence how it ended."""
    if not found.is_measured:
        left = sum(judge.unmeasured for judge in found.judges)
        return f"not measured: the model gave no answer on {left} of the items; nothing is accepted"
    ended = "gate held" if found.passed else "gate breached"
    if found.is_accepted:
        ended += ", accepted as the new baseline"
    return f"{ended}: {', '.join(judge.setting.name for judge in found.judges)} on {found.golden}"


def to_json(found: Regression) -> dict[str, object]:
    """Return the outcome for machines."""
    state = {"passed": found.passed and found.is_measured, "measured": found.is_measured}
    return {"headline": headline(found), **state, **found.model_dump(mode="json")}


def as_text(found: Regression) -> RenderableType:
    """Return the outcome for the terminal."""
    style = "bold green" if found.passed and found.is_measured else "bold red"
    parts: list[RenderableType] = [Text(headline(found), style=style)]
    for judge in found.judges:
        table = Table.grid(padding=(0, 2))
        for name, value in _numbers(judge):
            table.add_row(Text(f"  {name}", style="dim"), Text(value))
        parts += [Text(judge.setting.name, style="bold"), table]
        for condition in judge.gate:
            mark, colour = ("ok", "green") if condition.passed else ("NO", "bold red")
            parts.append(Text(f"  {mark} {condition.sentence}", style=colour))
        parts += [_item(row) for row in judge.changed[:_SHOWN]]
        if len(judge.changed) > _SHOWN:
            parts.append(Text(f"  … and {len(judge.changed) - _SHOWN} more: --json lists them", style="dim"))
    if found.usage.calls:
        parts.append(Text(f"{number_of(found.usage.calls, 'call')}, cost {found.usage.cost:.4f}", style="dim"))
    return Group(*parts)


def as_junit(found: Regression) -> str:
    """Return JUnit XML: a suite a judge, a case an item and one for each condition of the gate.

    A regression is a failure, an item without a verdict an error; what the baseline had wrong too, or what is wrong and
    new, is skipped with its reason, since the gate decides whether that is too much.
    """
    root = ET.Element("testsuites", name="enricher regress")
    for judge in found.judges:
        suite = ET.SubElement(root, "testsuite", name=judge.setting.name)
        for row in judge.rows:
            _case(suite, judge.judge, row)
        for condition in judge.gate:
            case = ET.SubElement(suite, "testcase", classname=f"{judge.judge}.gate", name=condition.name)
            if not condition.passed:
                ET.SubElement(case, "failure", message=_xml(condition.sentence), type="gate")
        for kind, name in (("testcase", "tests"), ("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.set(name, str(sum(1 for _ in suite.iter(kind))))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_markdown(found: Regression) -> str:
    """Return a summary for a pull request or `$GITHUB_STEP_SUMMARY`; texts of traces are escaped."""
    lines = [f"## {_md(headline(found))}", ""]
    for judge in found.judges:
        lines += [f"### {_md(judge.setting.name)}", "", "| | |", "|---|---|"]
        lines += [f"| {name} | {_md(value)} |" for name, value in _numbers(judge)]
        lines += ["", *(f"- {'✅' if c.passed else '❌'} {_md(c.sentence)}" for c in judge.gate), ""]
        if judge.changed:
            lines += ["| item | people | before | now | why |", "|---|---|---|---|---|"]
            lines += [_line(row) for row in judge.changed[:_SHOWN]]
            if len(judge.changed) > _SHOWN:
                lines.append(f"\n… and {len(judge.changed) - _SHOWN} more")
            lines.append("")
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Write a file for CI.

    Raises:
        SetupError: it can't be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SetupError(f"{path} can't be written: {error.strerror}") from error


def _numbers(judge: JudgeRegression) -> Iterator[tuple[str, str]]:
    yield "agreement", share(judge.agreement)
    yield "kappa", "not defined" if judge.kappa is None else f"{judge.kappa:.2f}"
    if judge.baseline is None or judge.before is None:
        yield "baseline", "none yet; --accept makes this candidate the first one"
    else:
        yield "baseline", f"{share(judge.before)}, {judge.baseline}"
    counted = ", ".join(f"{count} {name}" for name, count in sorted(judge.changes.items()))
    yield "items", f"{judge.items}: {counted}"
    if judge.chance is not None and judge.changes.get(Change.REGRESSION):
        yield "worse by chance", f"p = {judge.chance:.3f} (sign test on regressions and improvements)"


def _item(row: ItemRow) -> Text:
    text = Text(f"  {row.change:<16} ", style=_STYLES.get(row.change, "yellow"))
    said = row.label or row.status
    text.append(f"{row.id}: people {row.expected}, before {row.before or '–'}, now {said}", style="bold")
    if row.why:
        text.append(f"\n                   now: {row.why}")
    if row.why_before and row.change is not Change.SAME:
        text.append(f"\n                   before: {row.why_before}", style="dim")
    if row.comment:
        text.append(f"\n                   people: {row.comment}", style="dim")
    return text


def _case(suite: ET.Element, judge: str, row: ItemRow) -> None:
    case = ET.SubElement(suite, "testcase", classname=judge, name=_xml(row.id))
    said = f"people {row.expected}, before {row.before or 'unknown'}, now {row.label or row.status}"
    told = _xml("\n".join(part for part in (row.question, f"now: {row.why}", f"before: {row.why_before}") if part))
    if row.change is Change.REGRESSION:
        ET.SubElement(case, "failure", message=_xml(said), type="regression").text = told
    elif row.change is Change.FAILED:
        ET.SubElement(case, "error", message=_xml(said), type=row.status).text = told
    elif row.is_right is False:
        ET.SubElement(case, "skipped", message=_xml(f"wrong, and no regression: {said}"))


def _line(row: ItemRow) -> str:
    cells = (f"{row.change} {row.id}", row.expected, row.before or "–", row.label or row.status, row.why)
    return f"| {' | '.join(_md(cell) for cell in cells)} |"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(_xml(text).split()))
