"""Recognise finite verbs, so far as words alone tell: what makes a stretch of a sentence a statement of its own."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from enricher.grounding.lexicon import word_set

BE = word_set("is are was were isn't aren't wasn't weren't")
HAVE = word_set("has have had hasn't haven't hadn't")
DO = word_set("does do did doesn't don't didn't")
MODALS = word_set(
    "will shall must may might can cannot could should would won't can't mustn't shouldn't wouldn't needn't"
)
AUXILIARIES = BE | HAVE | DO | MODALS
PLURAL_AUXILIARIES = word_set("are were have aren't weren't haven't do don't")
CHAINED = word_set("be been being have")  # what may follow an auxiliary and be shared with it

# Verbs whose form in -s is hardly ever a noun.
_CLEAR = word_set(
    """accept achieve acquire add adopt agree allow announce appear apply arise arrive assume attend become begin
    believe belong bring buy carry cease choose commence complete comprise confirm conclude consist contain
    continue contribute correspond create decide define deliver deny depend describe determine develop differ
    direct disclose discover earn employ enable enter establish exceed exclude exist expire explain express fail
    feature follow forbid found gain generate give govern graduate grant grow guarantee happen hire hold imply
    import include increase indicate inform inherit introduce invest invite involve join keep lack last launch
    lead learn leave lose maintain make marry mean merge move necessitate obtain occur offer omit open operate
    oppose own pay perform permit persist precede prevent proceed produce prohibit promise propose protect prove
    provide publish purchase quit receive recommend refer refuse regulate reject relate release rely remain
    remove renew replace represent require reside resign resolve result retain retire reveal rise sell send
    serve settle specify spend start state stay stipulate succeed suggest suffer sustain take tell terminate
    threaten transfer treat understand undertake vary win withdraw write weigh assign bear reimburse waive
    accompany appoint close end help live delete store select pose seem squeeze want attract explore"""
)
# Verbs whose form in -s is as often a noun: a verb only before what can be its object.
_UNCLEAR = word_set(
    """aim answer award benefit call cause change charge claim cost cover credit damage debut delay demand design
    document estimate export fall film finish focus form host influence insure issue lease limit list mark
    measure name need note number plan play process profit purpose range rank rate reach record reduce rent
    report request rest return review run score set share ship show sign split stand step stop study support
    target term test total trade train travel trial turn use value vote warrant work"""
)
PAST = word_set(
    """became began bought broke brought built came chose did drew drove fell felt fought found flew forgot gave
    went grew had heard held kept knew led left lent lost made met paid ran rose said saw sent sang sat slept
    spoke spent stood stole swam took taught told thought threw understood wore won wrote sold got dealt lay
    sought struck fed fled hung sank bore bound withdrew forbade"""
)
_PARTICIPLES = word_set(
    """born bought broken brought built chosen done drawn driven found flown forgotten given gone grown heard held
    kept known led left lent lost made met paid risen said seen sent shown spoken spent stolen taken taught told
    thought thrown understood worn won written sold set cut put run read dealt sought struck forbidden withdrawn
    overseen"""
)
SAYING = word_set(
    """say says said state states stated specify specifies specified mention mentions mentioned note notes noted
    indicate indicates indicated provide provides provided report reports reported confirm confirms confirmed
    show shows showed shown explain explains explained announce announced announces stipulate stipulates
    stipulated"""
)


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "ch", "sh", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeou" else f"{verb}s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if verb.endswith("y") and verb[-2] not in "aeou" else f"{verb}ed"


CLEAR_PRESENT = frozenset(map(_third_person, _CLEAR))
UNCLEAR_PRESENT = frozenset(map(_third_person, _UNCLEAR))
INFINITIVES = frozenset((*_CLEAR, *_UNCLEAR, "be", "have", "do", "go", "get", "put", "see"))
# Both: the past of a verb, and the participle that goes with an auxiliary.
REGULAR_PAST = frozenset(map(_past, (*_CLEAR, *_UNCLEAR))) | word_set(
    "referred stopped planned occurred shipped omitted ran"
)
PARTICIPLES = REGULAR_PAST | _PARTICIPLES
# They have no passive: after "was born in 1977 and" they are a past of their own.
INTRANSITIVE = word_set(
    """moved lived died worked retired returned resigned emigrated immigrated migrated graduated served travelled
    traveled appeared arrived went admitted ended escaped fled grew rose fell stayed remained competed performed
    participated lasted began continued occurred agreed applied expired belonged"""
)

# Finite verbs of other languages, where only a full clause on either side of a conjunction is a statement of its own.
FOREIGN = {
    "de": word_set(
        """ist sind war waren wird werden wurde wurden hat haben hatte hatten muss müssen musste mussten kann
        können konnte konnten darf dürfen durfte durften soll sollen sollte sollten will wollen gilt gelten galt
        endet enden endete beginnt beginnen begann kostet kosten kostete dauert dauern dauerte beträgt betragen
        betrug umfasst enthält enthalten enthielt liegt liegen lag steht stehen stand gibt gab erhält erhalten
        erhielt zahlt zahlen zahlte trägt tragen trug bietet bieten bot gehört gehören gehörte bleibt bleiben
        blieb verlängert kündigte bezahlt haftet haften schuldet schulden verpflichtet übernimmt übernehmen
        entfällt entfallen erfolgt erfolgen erlischt läuft laufen lief öffnet öffnen schließt schließen wiegt
        wiegen lebt leben lebte wohnt wohnte arbeitet arbeiten arbeitete gründete kaufte verkaufte leitete führt
        führte benötigt benötigen braucht brauchen deckt decken ermöglicht verbietet erlaubt"""
    ),
    "fr": word_set(
        """est sont était étaient fut furent sera seront a ont avait avaient aura auront doit doivent devra devront
        peut peuvent pourra pourront coûte coûtent dure durent s'élève s'élèvent s'applique s'appliquent
        commence commencent termine prend couvre couvrent comprend comprennent contient contiennent exige
        exigent reste restent expire"""
    ),
    "es": word_set(
        """es son era eran fue fueron será serán está están ha han había tiene tienen tenía debe deben puede pueden
        podrá podrán cuesta cuestan dura duran incluye incluyen cubre cubren asciende ascienden comienza termina
        vence requiere requieren contiene contienen permite permiten"""
    ),
    "it": word_set(
        """è sono era erano fu furono sarà saranno ha hanno aveva deve devono può possono costa costano dura durano
        include includono copre coprono ammonta ammontano inizia termina scade richiede richiedono contiene
        contengono"""
    ),
    "pt": word_set(
        """é são era eram foi foram será serão está estão tem têm tinha deve devem pode podem custa custam dura
        duram inclui incluem cobre cobrem começa termina vence exige exigem contém contêm"""
    ),
    "nl": word_set(
        """is zijn was waren wordt worden werd werden heeft hebben had hadden moet moeten kan kunnen mag mogen zal
        zullen kost kosten duurt duren bedraagt bedragen omvat bevat begint eindigt geldt gelden"""
    ),
}

SUBORDINATE = word_set("that which who whom whose whether because if when unless although though where why how")
PRONOUNS = word_set("it they he she we you i this that these those there")
DETERMINERS = word_set("the a an its their his her our your my this that these those each every all any some no both")
PREPOSITIONS = word_set(
    """in on at by from to of for with under over after before during since until as into onto within without
    through between among about against per via upon throughout across near around towards"""
)
_NO_SUBJECT = (DETERMINERS - PRONOUNS) | PREPOSITIONS | word_set("and or")
_AFTER_NOUN = PREPOSITIONS | AUXILIARIES | word_set("and or")
_WORD = re.compile(r"[$€£¥]?[^\W_]+(?:['’&./-][^\W_]+)*")
ADVERB = re.compile(
    r"(?:also|then|later|now|still|never|always|only|even|thus|therefore|subsequently|eventually|\w+ly)\s", re.I
)


class Word(NamedTuple):
    """A word of a text, with its offsets."""

    start: int
    end: int
    text: str
    low: str

    @property
    def is_name(self) -> bool:
        """Tell whether it begins with a capital."""
        return self.text[0].isupper()

    @property
    def is_number(self) -> bool:
        """Tell whether it begins with a digit."""
        return self.text[0].isdigit()


def words_in(text: str) -> list[Word]:
    """Return the words of a text."""
    return [Word(m.start(), m.end(), m.group(), m.group().lower()) for m in _WORD.finditer(text)]


def finite_place(words: Sequence[Word], first: int = 0) -> int | None:
    """Return the place of the first word that is a finite verb; one that may be a noun only if there is no other."""
    for place in range(first, len(words)):
        if is_finite(words, place):
            return place
    for place in range(max(first, 1), len(words) - 1):
        before, after = words[place - 1].low, words[place + 1].low
        if words[place].low in UNCLEAR_PRESENT and before not in _NO_SUBJECT and after not in _AFTER_NOUN:
            return place
    return None


def is_finite(words: Sequence[Word], place: int) -> bool:
    """Tell whether a word is a finite verb, as far as it and its neighbours tell."""
    word = words[place]
    before = words[place - 1].low if place else ""
    after = words[place + 1] if place + 1 < len(words) else None
    if word.low in AUXILIARIES:
        # "the last will", "in May", "can" as a thing
        return before not in DETERMINERS or before in PRONOUNS
    if not place or before in DETERMINERS - PRONOUNS or before in PREPOSITIONS:
        return False
    if word.low in CLEAR_PRESENT or word.low in PAST - PARTICIPLES:
        return True
    if word.low in UNCLEAR_PRESENT:
        return after is not None and (after.low in DETERMINERS or after.is_number or after.is_name)
    if word.low in REGULAR_PAST or word.low in PAST:
        # "the tenant named in the lease" has no verb yet; "Anna moved to Paris" has.
        has_object = after is not None and (after.low in DETERMINERS or after.is_number or after.low in PRONOUNS)
        is_plain = all(
            earlier.is_name or earlier.low in PRONOUNS or ADVERB.match(f"{earlier.low} ") for earlier in words[:place]
        )
        return has_object or is_plain
    return False
