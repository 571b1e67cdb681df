"""Answers the diff prompt by reference as a fair model would, by the words and figures that sentences share."""

import json
import re

_DOCUMENT_LINE = re.compile(r"^\[([\w-]+\.s\w+)\] (.*)$", re.M)
_ANSWER_LINE = re.compile(r"^\[(s\d+)\] (.*)$", re.M)
_IDS = re.compile(r"each exactly once: ([^\n]+)")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|\w+")
_SMALL = frozenset(
    re.findall(r"\w+", "a an the of to in on at is are was were be it its and or for by with from that this")
)
_NEGATIONS = frozenset(("not", "no", "never", "cannot", "nicht", "kein", "keine"))


def answer(prompt: str) -> str:
    """Return the JSON text of a verdict on a rendered `diff@v2` prompt."""
    evidence = [(name, _words(text)) for name, text in _DOCUMENT_LINE.findall(prompt)]
    said = dict(_ANSWER_LINE.findall(prompt))
    asked = _IDS.search(prompt)
    names = [name.strip() for name in asked[1].split(",")] if asked else list(said)
    segments = [_judged(name, _words(said.get(name, "")), evidence) for name in names]
    worst = next((s["explanation"] for s in segments if s["explanation"]), "Every sentence follows from the documents.")
    return json.dumps({"segments": segments, "omissions": [], "summary": worst})


def _judged(name: str, words: set[str], evidence: list[tuple[str, set[str]]]) -> dict[str, object]:
    ranked = sorted(evidence, key=lambda pair: -_overlap(words, pair[1]))[:2]
    best = ranked[0] if ranked else ("", set())
    held = best[1] | (ranked[1][1] if len(ranked) > 1 and _overlap(words, ranked[1][1]) > 0.3 else set())
    share = _overlap(words, held)
    figures, known = _figures(words), _figures(best[1])
    if share >= 0.99 and bool(words & _NEGATIONS) == bool(best[1] & _NEGATIONS):
        return _entry(name, [n for n, w in ranked if w & words][: 1 if _overlap(words, best[1]) >= 0.99 else 2])
    if _overlap(words - figures, best[1]) >= 0.5 and ((figures - known and known) or share >= 0.99):
        told, holds = ", ".join(sorted(figures - known)) or "the opposite", ", ".join(sorted(known)) or "otherwise"
        return _entry(name, [best[0]], "CONTRADICTED", "CONTRADICTED", f"answer says {told}, {best[0]} says {holds}")
    if share >= 0.6:
        return _entry(name, [best[0]], "PARTIALLY_SUPPORTED", "ADDED", "only part of it is stated")
    return _entry(name, [], "UNSUPPORTED", "ADDED", "the documents say nothing about it")


def _entry(name, evidence, status="FULLY_SUPPORTED", issue="NONE", explanation=""):
    return {"id": name, "evidence": evidence, "explanation": explanation, "status": status, "issue": issue}


def _words(text: str) -> set[str]:
    return {word for word in _TOKEN.findall(text.casefold()) if word not in _SMALL}


def _figures(words: set[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}


def _overlap(words: set[str], others: set[str]) -> float:
    stems = {other if other[0].isdigit() else other[:5] for other in others}
    return sum((word if word[0].isdigit() else word[:5]) in stems for word in words) / len(words) if words else 0.0
