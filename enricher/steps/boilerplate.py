"""Recognise sentences that state nothing about the subject: greetings, courtesies, announcements, admissions."""

import re

_MAX_WORDS = 22

# Each pattern must match from the start; a courtesy with figures in it is read as a statement all the same.
_COURTESIES = re.compile(
    r"""\W*(?:
    (?:hi|hello|hey|dear|greetings|good\s+(?:morning|afternoon|evening|day)|welcome)\b(?:[\s,]+[\w.'’-]+){0,4}[\s,!.:👋]*$
  | (?:hallo|guten\s+(?:tag|morgen|abend)|liebe[r]?|sehr\s+geehrte[r]?|bonjour|bonsoir|salut|hola|buen[oa]s\s+\w+|ciao
      |buongiorno|olá|oi|bom\s+dia|cher|chère|estimad[oa])\b(?:[\s,]+[\w.'’-]+){0,4}[\s,!.:]*$
  | (?:many\s+)?(?:thanks|thank\s+you|thx|cheers)\b
  | (?:vielen\s+dank|danke|merci|gracias|grazie|obrigad[oa])\b
  | (?:you(?:['’]re|\s+are)\s+(?:very\s+|most\s+)?welcome|no\s+problem|my\s+pleasure|no\s+worries)\b
  | (?:please\s+)?(?:let\s+me\s+know|feel\s+free|do\s+not\s+hesitate|don['’]t\s+hesitate|reach\s+out)\b
  | (?:please\s+)?(?:contact|get\s+in\s+touch\s+with)\s+(?:us|me)\s+(?:if|with|for)\b
  | (?:lassen\s+sie\s+(?:mich|es\s+mich|uns)|melden\s+sie\s+sich|bei\s+(?:weiteren\s+)?fragen
      |n['’]hésitez\s+pas|no\s+dude)\b
  | if\s+you\s+(?:have|need|want|would\s+like)\s+(?:any\s+|some\s+|to\s+|more\s+)?
      (?:other\s+|further\s+|additional\s+|more\s+|know\s+)*(?:questions?|help|assistance|anything|information|details|clarification|concerns?)\b
  | (?:i|we)\s+(?:really\s+)?(?:hope|trust)\s+(?:this|that|it|the\s+(?:above|answer|information))\b
  | (?:hope|hopefully)[,\s]+(?:this|that|it)\s+(?:helps|answers|clarifies|is\s+helpful|is\s+useful|was\s+helpful)\b
  | (?:i|we)(?:['’]m|\s+am|['’]re|\s+are|['’]d\s+be|\s+would\s+be|['’]ll\s+be|\s+will\s+be)\s+(?:always\s+)?
      (?:happy|glad|delighted|pleased|here|more\s+than\s+happy)\s+to\b
  | (?:is\s+there|was\s+there)\s+anything\s+else\b
  | (?:sure|certainly|absolutely|of\s+course|great|okay|ok|alright|gladly|understood|got\s+it)\s*
      (?:thing|question|point)?[\s!.,:]*$
  | (?:sure|certainly|absolutely|of\s+course)\b[\s!.,]*(?:i|we)\s*(?:can|will|would|['’]d|['’]ll)\b[^.;:]{0,60}[.!]?$
  | that(?:['’]s|\s+is)\s+(?:it|all)[\s!.]*$
  | enjoy(?:\s+your\s+\w+)?[\s!.]*$
  | (?:that['’]?s|that\s+is|what)\s+an?\s+(?:great|good|excellent|interesting|wonderful)\s+question\b
  | (?:great|good|excellent|interesting)\s+question\b
  | (?:sure|certainly|of\s+course|absolutely|great|okay|ok)?[\s!,.]*(?:here|below|following)
      (?:['’]s|\s+(?:is|are))\b[^.]*:\s*$
  | (?:based\s+on|according\s+to|from|per|using|given)\s+(?:the|your|these|those|this)\s+[^.]{0,60}[,:]\s*$
  | (?:in\s+summary|to\s+summari[sz]e|in\s+short|in\s+conclusion|summary|answer|note|sources?|references?|quellen?)
      \s*[:,]?\s*$
  | (?:best|kind|warm)(?:est)?\s+(?:regards|wishes)\b
  | (?:sincerely|yours\s+(?:truly|sincerely|faithfully)|mit\s+freundlichen\s+grüßen|cordialement|saludos)\b
  | have\s+(?:a|an)\s+(?:nice|great|good|wonderful|lovely)\b
  | (?:please\s+)?(?:note|be\s+aware)\s*[:.]?\s*$
  | as\s+an?\s+(?:ai|language\s+model|artificial\s+intelligence)\b
  | (?:お問い合わせ|ご不明な点|よろしくお願い|ありがとう|こんにちは|您好|你好|谢谢|感谢
      |如有(?:任何)?(?:问题|疑问)|希望(?:这|以上))
  | (?:i|we)\s+(?:sincerely\s+)?apologi[sz]e\b
  | (?:my|our)\s+apologies\b
    )""",
    re.I | re.X,
)

# What only says that something follows: "Here's the summary in 50 words:", "... can be summarized as follows:".
_ANNOUNCEMENTS = re.compile(
    r"""(?:
    .*\bhere(?:['’]s|\s+(?:is|are))\b[^.:;]*:
  | .*\b(?:can|could|may)\s+be\s+(?:summari[sz]ed|described|listed|answered)\s+
        (?:as|below|in\s+the\s+(?:above|following))\b[^.;:]*[.:]
  | .*\b(?:is|are)\s+as\s+follows\s*[.:]
  | .*\byou\s+(?:can|could|may|should|need\s+to)\s+(?:try|follow|use|take)\s+(?:these|the\s+following)\b[^.;:]*:
  | .*\bthe\s+answer\s+(?:to\s+[^:]+\s+)?is\s*:
    )\s*$""",
    re.I | re.X,
)
# A length, or the number of a source, says nothing of the subject.
_OWN_NUMBERS = re.compile(r"\b\d{1,4}\s+words?\b|\b(?:passages?|documents?|sources?)\s+\d{1,3}\b", re.I)
_ONLY_SOURCES = re.compile(
    r"\W*(?:(?:see|from|source)\s*:?\s+)?(?:passages?|documents?|sources?|excerpts?)\s+\d{1,3}"
    r"(?:(?:\s*[,&–-]\s*|\s*,?\s+and\s+)(?:passage\s+|document\s+|source\s+)?\d{1,3})*\W*$",
    re.I,
)

# The writer says that he doesn't know or won't answer; what documents contain or lack is a statement, not an admission,
# unless it names no subject of its own ("The documents do not say.").
_ADMISSIONS = re.compile(
    r"""\W*(?:(?:i['’]?m\s+|i\s+am\s+|we['’]?re\s+)?(?:very\s+|so\s+|really\s+)?(?:sorry|afraid|apologies|unfortunately)[\s,.!]*
        (?:but\s+|that\s+)?)?
    (?:based\s+on\s+[^,]{0,60},\s*)?
    (?:
    (?:i|we)\s+(?:really\s+|honestly\s+|simply\s+)?(?:do\s+not|don['’]?t|did\s+not|didn['’]?t)\s+(?:actually\s+)?
        (?:know|have\s+(?:any\s+|enough\s+|sufficient\s+|that\s+|access|the\s+)|see\s+(?:any|that)|find)
  | (?:i|we)\s+(?:can\s*not|can['’]?t|could\s+not|couldn['’]?t|am\s+unable|are\s+unable|was\s+unable|were\s+unable
        |am\s+not\s+able|are\s+not\s+able|will\s+not|won['’]?t)\b\s*(?:to\s+)?
        (?:answer|help|assist|find|determine|provide|tell|say|respond|comply|give|locate|confirm|fulfil+|discuss|comment)
  | i(?:['’]m|\s+am)\s+(?:not\s+(?:sure|certain|aware)|uncertain|unsure|unable)
  | (?:sorry|no\s+(?:idea|answer|answer\s+found|information|relevant\s+information))[\s.!]*$
  | (?:n/?a|unknown|unclear|not\s+(?:known|specified|stated|available|mentioned|answerable|found))[\s.!]*$
  | (?:note\s*:\s*)?unable\s+to\s+(?:answer|determine|find|provide|say|tell)\b[^.,;]{0,80}[.\s"'”]*$
  | insufficient\s+(?:information|context|data)\b
  | (?:there\s+is\s+|there['’]s\s+)?(?:not\s+enough|no|insufficient)\s+(?:information|context|data)\s+
        (?:(?:in|from|within|provided\s+in)\s+the\s+[\w\s]{0,30}?)?(?:to\s+(?:answer|say|tell|determine|respond)[^.]*)?[.!]*$
  | (?:das\s+)?(?:weiß|weiss)\s+ich\s+(?:leider\s+)?nicht | ich\s+(?:weiß|weiss|kann)\b.{0,60}\bnicht
  | je\s+ne\s+(?:sais|peux|suis)\s+pas | no\s+(?:lo\s+)?s[ée]\b | no\s+puedo\b | non\s+(?:lo\s+)?so\b
  | não\s+(?:sei|posso)\b
  | (?:分かりません|わかりません|申し訳|我不知道|抱歉|无法回答|対応できません)
    )""",
    re.I | re.X,
)
_SOURCE = (
    r"(?:(?:the|these|those|this|my|your|any(?:\s+of\s+the)?)\s+)?(?:(?:provided|given|supplied|available|retrieved|"
    r"above|attached|search|source)\s+)*(?:documents?|context|texts?|sources?|passages?|information|excerpts?|results?|"
    r"material|articles?|content|snippets?|data|knowledge\s+base|it|they)"
)
_SILENT_SOURCES = re.compile(
    rf"""\W*(?:(?:sorry|unfortunately)[\s,.!]*(?:but\s+)?)?{_SOURCE}\s+
    (?:(?:provided|given|above|available)\s+)?
    (?:do(?:es)?\s+not|do(?:es)?n['’]?t|did\s+not|didn['’]?t)\s+
    (?:(?:explicitly|specifically|directly|clearly)\s+)?
    (?:say|tell|specify|answer|mention|state|contain|provide|include|address|cover|indicate|give)
    (?:\s+(?:so|it|this|that|these|an?\s+answer|the\s+answer|the\s+question|your\s+question|the\s+information|
        this\s+information|that\s+information|enough\s+information|(?:any\s+)?(?:relevant\s+|such\s+)?information))?
    (?:\s+(?:to|needed|required|necessary)\b[^.]{{0,60}}\b(?:question|answer|this|that|it))?\s*[.!]*$
  | \W*(?:das\s+)?(?:steht|geht)\s+(?:so\s+)?(?:nicht\s+in|aus)\s+(?:den|dem)\s+
    (?:dokumenten?|unterlagen|texte?n?|kontext)
    (?:\s+nicht\s+hervor)?\W*$
  | \W*(?:die\s+dokumente|der\s+(?:text|kontext))\s+(?:sagen|sagt|enthalten|enthält)\s+(?:dazu\s+)?(?:nichts|nicht)
    (?:\s+dazu)?\W*$
    """,
    re.I | re.X,
)
_ONLY_LINKS = re.compile(
    r"\W*(?:(?:sources?|references?|links?|see|quellen?)\s*:?\s*)?(?:(?:https?://\S++|\[\^?\d+\])[\s,;.]*)+$", re.I
)
# "I don't know the fee, but refunds take 5 days": the rest is a statement.
_GOES_ON = re.compile(
    r"[,;–—]\s*(?:but|however|though|although|aber|mais|pero)\s+(?!(?:i|we|you|please|ich|je)\b)(?:\S+\s+){2}", re.I
)
_DIGIT = re.compile(r"(?<![A-Za-z])\d")  # "P60" is a name


# What links, sources, admissions and courtesies begin with, where it is Latin letters, in lower case. Most sentences
# begin with none of it and need not be held against those four patterns.
_OPENING = re.compile(
    r"absolutely|according|afraid|alright|answer|apologies|as|based|be|bom|bonjour|bonsoir|"
    r"buen|buongiorno|certainly|cheers|cher|ciao|contact|cordialement|danke|das|dear|do|enjoy|"
    r"estimad|excellent|excerpt|feel|following|from|get|given|gladly|good|got|gracias|grazie|"
    r"great|greetings|guten|hallo|have|hello|here|hey|hi|hola|hope|http|i|je|kind|lassen|"
    r"let|liebe|link|many|melden|merci|mit|my|n/a|na|no|obrigad|of|oi|ok|our|passage|"
    r"per|please|quelle|reach|really|reference|salu|see|sehr|sincerely|so|summary|sure|thank|"
    r"that|there|thx|to|un|using|very|vielen|warm|was|we|what|you"
)
_LONGEST_OPENING = 16  # characters


def is_boilerplate(sentence: str) -> bool:
    """Tell whether a sentence is a courtesy, an announcement or an admission of not knowing: nothing to check."""
    may_be = _opens_as_boilerplate(sentence)
    if may_be and (_ONLY_LINKS.match(sentence) or _ONLY_SOURCES.match(sentence)):
        return True
    if len(sentence) > 400 or len(sentence.split()) > _MAX_WORDS:
        return False
    if _SILENT_SOURCES.match(sentence):
        return True
    if may_be and (admission := _ADMISSIONS.match(sentence)):
        return not _GOES_ON.search(sentence, admission.end())
    is_one = (may_be and _COURTESIES.match(sentence) is not None) or _is_announcement(sentence)
    return is_one and not _DIGIT.search(_OWN_NUMBERS.sub("", sentence))


def _opens_as_boilerplate(sentence: str) -> bool:
    head = sentence[:_LONGEST_OPENING]
    # Signs may come before an opening, and those in other letters are not listed.
    return not (head.isascii() and head[:1].isalnum()) or _OPENING.match(head.lower()) is not None


def _is_announcement(sentence: str) -> bool:
    # The pattern tries every place in a sentence, which takes long; each of its forms holds one of these. They do
    # without "i", for which the pattern takes a dotless one too.
    text = sentence.casefold()
    may_be = "here" in text or "follow" in text or "these" in text or "answer" in text
    may_be = may_be or "summar" in text or "descr" in text or "sted" in text
    return may_be and _ANNOUNCEMENTS.match(sentence) is not None
