"""Gates for CI: conditions over the figures of a comparison, in a language that can do nothing else."""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from enricher.errors import SetupError

Metrics = Mapping[str, float | None]

_LONGEST = 1000  # characters
_OPERATORS: Mapping[type[ast.cmpop], tuple[str, Callable[[float, float], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}


class _Unmeasured(Exception):
    """A figure that the gate needs does not exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """Whether a gate held, and what each figure in it was."""

    gate: str
    passed: bool
    figures: Mapping[str, float | None]
    problem: str = ""  # why it could not be measured; then it has not passed

    @property
    def sentence(self) -> str:
        """Say how it ended, with the figures."""
        told = ", ".join(f"{name} = {_shown(value)}" for name, value in self.figures.items())
        ended = "held" if self.passed else f"could not be measured: {self.problem}" if self.problem else "breached"
        return f"gate {ended}: {self.gate}" + (f" ({told})" if told else "")


class Gate:
    """A parsed gate.

    Raises:
        SetupError: it is no condition over known figures; the message names them.
    """

    def __init__(self, text: str, known: Mapping[str, str] | frozenset[str]) -> None:
        self.text = " ".join(text.split())
        self._known = frozenset(known)
        if not self.text or len(self.text) > _LONGEST:
            raise self._refused("write a condition of at most 1000 characters")
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._refused("it can't be read") from None
        self._names: dict[str, None] = {}
        self._check(self._tree)

    def evaluate(self, metrics: Metrics) -> GateResult:
        """Tell whether the gate holds; one that needs a figure nobody could measure does not."""
        figures = {name: metrics.get(name) for name in self._names}
        try:
            return GateResult(gate=self.text, passed=self._holds(self._tree, metrics), figures=figures)
        except _Unmeasured as missing:
            return GateResult(
                gate=self.text, passed=False, figures=figures, problem=f"there is no figure {missing}"
            )  # fmt: skip

    def _check(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self._check(part)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._check(node.operand)
        elif isinstance(node, ast.Compare):
            strange = [op for op in node.ops if type(op) not in _OPERATORS]
            if strange:
                raise self._refused("compare with <, <=, >, >=, == or !=")
            for side in (node.left, *node.comparators):
                self._check_value(side)
        else:
            raise self._refused("it must compare figures with numbers, joined by and, or, not")

    def _check_value(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            if node.id not in self._known:
                close = get_close_matches(node.id, self._known, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise self._refused(f"there is no figure '{node.id}'{hint}")
            self._names[node.id] = None
        elif _number(node) is None:
            raise self._refused("only figures and numbers can be compared")

    def _holds(self, node: ast.expr, metrics: Metrics) -> bool:
        if isinstance(node, ast.BoolOp):
            # All parts are looked at, so that a figure nobody could measure is never passed over.
            held = [self._holds(part, metrics) for part in node.values]
            return all(held) if isinstance(node.op, ast.And) else any(held)
        if isinstance(node, ast.UnaryOp):
            return not self._holds(node.operand, metrics)
        assert isinstance(node, ast.Compare)  # `_check` let nothing else through
        values = [_value(side, metrics) for side in (node.left, *node.comparators)]
        steps = zip(node.ops, values, values[1:], strict=False)
        return all(_OPERATORS[type(op)][1](left, right) for op, left, right in steps)

    def _refused(self, why: str) -> SetupError:
        return SetupError(f"--gate '{self.text[:200]}': {why}; the figures are {', '.join(sorted(self._known))}")


def _value(node: ast.expr, metrics: Metrics) -> float:
    if isinstance(node, ast.Name):
        value = metrics.get(node.id)
        if value is None:
            raise _Unmeasured(node.id)
        return value
    number = _number(node)
    assert number is not None  # `_check_value` let nothing else through
    return number


def _number(node: ast.expr) -> float | None:
    sign = 1.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1.0
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return sign * float(node.value) if abs(node.value) < 1e300 else None
    return None


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"
