"""Gates hold or break by figures alone, and nothing but conditions over known figures is a gate."""

import pytest

from enricher.compare.gate import Gate
from enricher.compare.tally import metrics
from enricher.errors import SetupError

KNOWN = frozenset(metrics(None))


@pytest.mark.parametrize(
    ("gate", "passed"),
    [
        ("challenger_losses <= 0.10 and new_critical == 0", True),
        ("challenger_losses < 0.05", False),
        ("0 <= challenger_losses <= 0.1", True),
        ("not new_critical > 0", True),
        ("new_critical > 0 or challenger_losses == 0.1", True),
    ],
)
def test_a_gate_compares_figures(gate, passed):
    held = Gate(gate, KNOWN).evaluate({"challenger_losses": 0.1, "new_critical": 0.0})
    assert held.passed is passed
    assert "challenger_losses = 0.1" in held.sentence or "new_critical = 0" in held.sentence


@pytest.mark.parametrize("gate", ["challenger_losses <= 0.5", "new_critical == 0 or challenger_losses < 1"])
def test_a_gate_over_a_figure_that_could_not_be_measured_does_not_pass(gate):
    held = Gate(gate, KNOWN).evaluate({"challenger_losses": None, "new_critical": 0.0})
    assert not held.passed
    assert "could not be measured" in held.sentence


@pytest.mark.parametrize(
    "gate",
    ["", "1", "losses <", "__import__('os').system('true')", "new_critical + 1 == 1", "x == 0",
     "new_critical in (0, 1)", "new_critical.real == 0", "new_critical == True", "challenger_losses",
     "[0][0] == 0", "(lambda: 0)() == 0"],
)  # fmt: skip
def test_anything_else_is_refused_and_the_known_figures_are_named(gate):
    with pytest.raises(SetupError, match=r"the figures are .*challenger_losses.*new_critical"):
        Gate(gate, KNOWN)


def test_a_misspelt_figure_gets_a_hint():
    with pytest.raises(SetupError, match="did you mean challenger_losses"):
        Gate("challenger_loses <= 0.1", KNOWN)
