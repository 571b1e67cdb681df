"""Find what the evidence makes its statement depend on, and whether a claim left that out."""

import re
from collections.abc import Set as AbstractSet

from enricher.grounding.lexicon import word_set
from enricher.grounding.reading import Clause, Reading, weights_of
from enricher.grounding.tokens import FULL, key_of

_MARKER = re.compile(
    r"""\b(?=[abefinopstuvwà])(?:
      (?P<condition>if|unless|provided(?:\s+that)?|only\s+(?:if|when|for|after|with|on|in)|subject\s+to|as\s+long\s+as|in\s+case|
        except(?:ing)?(?:\s+for|\s+when)?|excluding|on\s+condition\s+that|falls|sofern|wenn|außer|nur\s+(?:wenn|für|mit)|
        vorausgesetzt|à\s+condition\s+que|sauf|si|salvo|excepto|siempre\s+que|a\s+menos\s+que)
    | (?P<group>for|to|by|in\s+the\s+case\s+of|für|bei|pour|para))\b""",
    re.X,
)
# Who or what a rule is restricted to: "for orders above 50 EUR".
_GROUPS = frozenset(
    map(
        key_of,
        word_set(
            """customers members orders purchases residents students employees users children adults seniors
            patients citizens guests visitors subscribers applicants tenants owners holders passengers beginners
            women men veterans pensioners nationals travellers buyers businesses nonprofits charities donors
            volunteers contractors managers kunden mitglieder bestellungen mitarbeiter studenten kinder senioren
            clients membres commandes clientes miembros pedidos"""
        ),
    )
)
_END = re.compile(r"[,;.:)]|\b(?:but|aber|then)\b|$", re.I)
_LEADING_END = re.compile(r"[,;]|\bthen\b|$", re.I)
_EVERYONE = frozenset({"everyone", "everybody", "anyone", "anybody", "jeder", "alle"})
_LEFT_OUT = 0.4  # a claim that holds less of a condition has dropped it
_SAYS_THE_REST = 0.5  # of the words outside the condition
_REACH = 24  # characters between "for" and the group it names


def dropped_condition(evidence: Reading, known: AbstractSet[str]) -> str | None:
    """Return a condition of the evidence that the known keys (of claim and question) leave out, or None."""
    for match in _MARKER.finditer(evidence.lower):
        if match["group"]:
            noun = next((t for t in evidence.tokens if t.start >= match.end("group") and t.key in _GROUPS), None)
            if noun is None or noun.start - match.end("group") > _REACH or noun.key in known:
                continue
        start = match.start()
        leading = not evidence.text[:start].strip(" ,;:-(")
        end = (_LEADING_END if leading else _END).search(evidence.text, match.end())
        stop = end.start() if end else len(evidence.text)
        inside = [t for t in evidence.tokens if match.start() <= t.start < stop and t.weight]
        outside = {t.key for t in evidence.tokens if not match.start() <= t.start < stop and t.weight}
        if len(outside & known) < _SAYS_THE_REST * len(outside):
            continue  # the claim is about the condition itself, or not about this sentence
        weights = weights_of(inside)
        total = sum(weights.values())
        if total >= FULL / 2 and sum(w for key, w in weights.items() if key in known) < _LEFT_OUT * total:
            return evidence.text[start:stop].strip(" ,;:-")
    return None


def widened_group(claim: Reading, evidence: Reading) -> str | None:
    """Return the group that the evidence speaks of when the claim says "everyone" instead, or None."""
    if _EVERYONE.isdisjoint(claim.words) or not _EVERYONE.isdisjoint(evidence.words):
        return None
    return next((t.word for t in evidence.tokens if t.key in _GROUPS and t.key not in claim.all_keys), None)


def mixes_clauses(clause: Clause, evidence: Reading) -> bool:
    """Tell whether a claim takes one part from each of two parallel clauses: who from one, what from the other."""
    ours = {key for key, worth in clause.keys.items() if worth >= FULL}
    clauses = [{key for key, worth in c.keys.items() if worth >= FULL} for c in evidence.clauses]
    for index, left in enumerate(clauses):
        for right in clauses[index + 1 :]:
            common = left & right
            if not common & ours or left >= ours or right >= ours:
                continue
            takes_from_both = ours & left - common and ours & right - common
            if takes_from_both and left - ours - common and right - ours - common and ours <= left | right:
                return True
    return False
