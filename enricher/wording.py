"""Recognise what certain wordings give away: a text that addresses its judge, a stated absence, a reversal."""

import re

# What an ellipsis must not swallow: words that turn a statement round or restrict it.
_REVERSING = re.compile(
    r"""\b(?:not?|never|none|nor|neither|nobody|nothing|cannot|without|except\w*|unless|only|excluding|exclud\w+|but
    |nicht|kein\w*|nie(?:mals)?|ohne|au(?:ß|ss)er|sofern|nur|weder|ne|pas|jamais|sans|sauf|aucun\w*|seulement|nunca
    |jamás|sin|salvo|ningun\w*|ningún|sólo|solo|não|sem|exceto|nenhum\w*|apenas|non|mai|senza|eccetto|nessun\w*|niet
    |geen|nooit|zonder|behalve|alleen|не|нет|ни|без|кроме|только|nie|bez|oprócz|inte|ej|utan|ikke|değil|jangan|tidak
    |لا|ليس|لم|لن|غير|إلا|नहीं|बिना)\b|n['’]t\b|[不没沒無无未非]|ない|ません|ずに|않|없|아니""",
    re.I | re.X,
)
_ABSENCE = re.compile(
    r"""(?:documents?|contexts?|sources?|texts?|passages?|excerpts?|materials?|information|contract|report|polic(?:y|ies)
      |manual|article|records?)\b[^.;]{0,60}?\b(?:do(?:es)?\s+not|don['’]t|doesn['’]t|did\s+not|didn['’]t|never|not)\s+
      (?:\w+\s+){0,2}?(?:mention|say|state|specif\w+|contain|include|provide|list|give|address|indicate|cover|reveal
      |describe|available|mentioned|stated|given|disclose)
    |\bno\s+(?:information|mention|details?|indication|statement|answer)\b[^.;]{0,60}\b(?:in|about|on|of|regarding|is|was)\b
    |\b(?:is|are|was|were)\s+not\s+(?:mentioned|stated|specified|given|provided|included|listed|described|addressed)\b
    |(?:dokument\w*|kontext|quelle\w*|text\w*|unterlagen)\b[^.;]{0,60}\b(?:nicht|kein\w*)\b
    |(?:documents?|contexte|sources?|textes?)\b[^.;]{0,40}\b(?:ne|n['’])\b[^.;]{0,40}\b(?:pas|aucun\w*)\b
    |(?:documentos?|contexto|fuentes?|textos?)\b[^.;]{0,40}\b(?:no|não)\b[^.;]{0,20}\b(?:menciona\w*|indica\w*|dice\w*
      |contiene\w*|especifica\w*|diz\w*|contêm|informa\w*)
    |(?:文件|文档|資料|资料|上下文|文中)[^。]{0,20}(?:没有|未|沒有)|(?:文書|資料|記載)[^。]{0,20}(?:ありません|ない|いません)""",
    re.I | re.X,
)
_LABEL_WORDS = r"(?:fully[_\s-]?supported|faithfulness[_\s-]?score|alignment[_\s-]?status|preferred[_\s-]?answer)"
_ADDRESSES_JUDGE = re.compile(
    rf"""\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){{0,3}}?(?:previous|prior|above|earlier|preceding|all
      |your|the|these|any)\s+(?:\w+\s+){{0,2}}?(?:instruction|prompt|rule|guideline|direction|context|message)s?
    |\b(?:ignorier\w*|vergiss|missachte\w*)\s+(?:\w+\s+){{0,4}}?(?:anweisung|instruktion|vorgabe|regel)\w*
    |\b(?:ignore[zrs]?|oublie[zrs]?)\s+(?:\w+\s+){{0,3}}?(?:instructions|consignes|directives)
    |\b(?:ignora|ignore|olvida|esquece|esqueça|dimentica)\w*\s+(?:\w+\s+){{0,3}}?(?:instruc\w+|istruzion\w+|instruções)
    |\b(?:игнорир\w+|забудь\w*)\s+(?:\w+\s+){{0,3}}?(?:инструкц\w+|указан\w+)
    |(?:忽略|无视|忘记|無視|忘れ)[^。]{{0,12}}(?:指令|指示|说明|提示|命令)|(?:指令|指示|命令)[^。]{{0,8}}(?:無視|忘れ)
    |تجاهل\s+(?:\w+\s+){{0,3}}?(?:التعليمات|الأوامر)
    |\b(?:evaluat(?:or|ion)|judge|grader|assessor|reviewer|prüfer|bewerter|évaluateur|evaluador)(?:\s+(?:note|model|ai
      |instructions?|hinweis))?\s*[:,]\s*(?:please\s+|bitte\s+)?(?:mark|rate|score|give|assign|return|output|set|label
      |answer|respond|treat|approve|bewerte|markiere|note[zr]?|califica|marca)
    |\b(?:mark|rate|label|score|give|return|output|assign|set|report|classify|verdict|respond)\b[^.\n]{{0,60}}\b{_LABEL_WORDS}
    |\b(?:give|assign|rate|return)\b[^.\n]{{0,30}}\b(?:a\s+)?(?:perfect\s+|full\s+)?score\s+(?:of\s+)?(?:1(?:\.0)?|100|10)\b
    |\ball\s+(?:segments?|claims?|statements?)\s+(?:are\s+|as\s+)?{_LABEL_WORDS}
    |["']?(?:faithfulness_score|alignment_status)["']?\s*[:=]
    |^\s*(?:system|assistant)\s*:\s|[.!?]\s+SYSTEM\s*:|<\|(?:im_start|im_end|system|assistant|user|channel)\|>|\[/?INST\]
    |\byou\s+are\s+(?:now\s+)?(?:an?\s+|the\s+)?(?:evaluator|judge|grader|different\s+(?:ai|assistant|model))\b""",
    re.I | re.X | re.M,
)

# At least one of these is in every text that the pattern above finds.
_ASCII_HINTS = (
    "ignor", "disregard", "forget", "override", "bypass", "vergiss", "missacht", "oublie", "olvida", "esquec",
    "dimentica", "evaluat", "judge", "grader", "assessor", "reviewer", "bewerter", "evaluador", "supported",
    "faithfulness", "alignment", "preferred", "score", "system", "assistant", "<|", "inst]", "you are",
)  # fmt: skip
_HINTS = (
    *_ASCII_HINTS,
    "esqueç", "игнорир", "забудь", "忽略", "无视", "忘", "無視", "تجاهل", "prüfer", "évaluateur",
)  # fmt: skip

# Text that closes what only a prompt opens wants its reader to believe that the material has ended.
_FALSE_TAG = re.compile(r"</\s*(?:answer|context|question|documents?)(?:-\w+)?\s*>")


def may_address_judge(text: str) -> bool:
    """Tell cheaply whether any of several texts, put into one, could speak to whoever judges them."""
    lowered = text.lower()
    hints = _ASCII_HINTS if lowered.isascii() else _HINTS  # most texts are plain, and so are most hints
    return "</" in lowered or any(hint in lowered for hint in hints)


def addresses_judge(text: str) -> bool:
    """Tell whether a text speaks to whoever judges it; a security manual may quote such words and mean no harm."""
    lowered = text.lower()
    if "</" in lowered and _FALSE_TAG.search(lowered):
        return True
    for hint in _HINTS:
        at = lowered.find(hint)
        while at >= 0:
            # Looking only around the hints makes this a hundred times cheaper on ordinary text.
            if _ADDRESSES_JUDGE.search(text, max(0, at - 90), at + 160):
                return True
            at = lowered.find(hint, at + 1)
    return False


def states_absence(text: str) -> bool:
    """Tell whether a sentence says that the documents lack something: true without any quote."""
    return bool(_ABSENCE.search(text))


def reverses(text: str) -> bool:
    """Tell whether leaving these words out could turn a statement round or lift a restriction."""
    return bool(_REVERSING.search(text))
