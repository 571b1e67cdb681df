"""Recognise text in documents that instructs whoever evaluates or answers, and is therefore no evidence."""

import re
from collections.abc import Iterable

from enricher.grounding.lexicon import word_set
from enricher.grounding.tokens import lowered

_HINTS = word_set(
    """ignore disregard forget override bypass score scores rating evaluator evaluators evaluation grader graders
    system developer faithful faithfulness supported fully_supported judge judges instruction instructions prompt
    prompts verdict ignoriere ignorieren ignorez ignora anweisung anweisungen instrucciones you"""
)
_INSTRUCTION = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}
        (?:previous|prior|above|earlier|preceding|all|any|your|other)\s+
        (?:\w+\s+){0,2}(?:instructions?|prompts?|rules?|guidelines?|context|directions?|messages?|documents?)
  | \bignorier\w*\s+(?:alle\s+|sie\s+)*(?:vorherigen|bisherigen|obigen)\s+\w*anweisung
  | \bignore[zr]?\s+(?:toutes\s+)?les\s+instructions
  | \bignora\w*\s+(?:todas\s+)?las\s+instrucciones
  | \b(?:system|developer)\s+(?:prompt|message|note|override|instruction)s?\s*:
  | \b(?:give|assign|return|output|award|set|report|use)\s+(?:\w+\s+){0,5}
        (?:score|rating|grade|faithfulness)\s*(?:of|=|:|to)?\s*
        (?:1|1\.0|100|10|full|max\w*|perfect|high\w*)
  | \b(?:mark|label|rate|score|treat|judge|consider|classify|grade|accept|report|count)\s+(?:\w+\s+){0,3}
        (?:answers?|claims?|segments?|statements?|responses?|everything|all|anything|this|it|outputs?|sentences?)\s+
        (?:\w+\s+){0,3}(?:as\s+)?(?:fully[_\s]supported|supported|faithful|correct|grounded|verified)\b
  | \bfully_supported\b
  | \b(?:to|note\s+to|attention|dear|message\s+(?:to|for)|instructions?\s+(?:to|for))\s+(?:the\s+)?
        (?:evaluators?|judges?|graders?|reviewers?|llm|ai|language\s+models?|assistants?|models?)\b
  | \b(?:evaluators?|graders?|llm\s+judges?|ai\s+(?:models?|assistants?|judges?))\s*
        (?::|(?:must|should|shall|has\s+to|have\s+to|note)\b)
  | \byou\s+(?:are\s+now|must\s+now)\s+(?:\w+\s+){0,3}
        (?:answer|respond|reply|say|output|evaluator|judge|assistant|model)\b
  | \byou\s+(?:must|should)\s+(?:always\s+|only\s+)*(?:answer|respond|reply|say|output)\s+
        (?:only\s+)?(?:(?:with|that)\b|["'“])
    """,
    re.X,
)
_QUOTED = re.compile(r"[\"“„«‘'][^\"”“»’']*$")


def addresses_the_judge(sentence: str, words: Iterable[str]) -> bool:
    """Tell whether a sentence instructs its reader how to judge, given its folded words; quoting one does not."""
    if _HINTS.isdisjoint(words):
        return False
    found = _INSTRUCTION.search(lowered(sentence))
    return found is not None and not _QUOTED.search(sentence[: found.start()])
