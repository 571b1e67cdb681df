"""Gates: a small language that compares figures with numbers, and nothing else."""

import pytest

from enricher.compare.gate import Gate
from enricher.errors import SetupError

KNOWN = frozenset({"losses", "new_critical", "ties"})
FIGURES = {"losses": 0.1, "new_critical": 0.0, "ties": None}


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("losses <= 0.10", True),
        ("losses < 0.1", False),
        ("losses <= 0.10 and new_critical == 0", True),
        ("losses > 0.5 or new_critical == 0", True),
        ("not losses > 0.5", True),
        ("not (losses > 0.5 or new_critical != 0)", True),
        ("0 <= losses <= 0.2", True),
        ("losses >= -1", True),
        ("1e-3 < losses", True),
        ("losses > new_critical", True),
        ("\n losses\n <= 1 ", True),
    ],
)
def test_a_gate_holds_or_not(text, passed):
    result = Gate(text, KNOWN).evaluate(FIGURES)
    assert result.passed is passed
    assert ("gate held" if passed else "gate breached") in result.sentence


@pytest.mark.parametrize("text", ["ties < 1", "not ties < 1", "losses <= 1 or ties < 1", "ties != 5"])
def test_a_figure_that_nobody_could_measure_lets_no_gate_pass(text):
    result = Gate(text, KNOWN).evaluate(FIGURES)
    assert not result.passed
    assert "could not be measured" in result.sentence
    assert "ties = not measured" in result.sentence


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "losses",
        "1",
        "losses <",
        "losses = 1",
        "lossse < 1",
        "losses < 'a'",
        "losses < True",
        "losses is 1",
        "losses in (1, 2)",
        "losses + 1 < 2",
        "losses < 2**99",
        "__import__('os').system('true') < 1",
        "losses.real < 1",
        "[x for x in (1,)] < 1",
        "(lambda: 1)() < 1",
        "losses < 1; losses < 2",
        "losses < 1 if ties < 1 else ties < 2",
        "losses := 1",
        "losses < 1e999",
        "losses < 1j",
        "(" * 500 + "losses" + ")" * 500 + " < 1",
        "not " * 200 + "losses < 1" + " and losses < 1" * 100,
        "losses < 1\0",
    ],
)
def test_anything_else_is_refused_with_the_known_figures(text):
    with pytest.raises(SetupError, match="the figures are losses, new_critical, ties"):
        Gate(text, KNOWN)


def test_a_misspelt_figure_is_corrected():
    with pytest.raises(SetupError, match="did you mean losses"):
        Gate("lossses < 1", KNOWN)
