"""Find the words of an answer that only say where it has something from, or that something follows: no claim."""

import re

_NUMBERS = r"\#?\d{1,3}(?:(?:\s*[,&–-]\s*|\s*,?\s+and\s+)(?:\#?\d{1,3}|(?:passage|document|source)\s+\#?\d{1,3}))*"
_NUMBERED = rf"(?:passages?|documents?|docs?|sources?|excerpts?|snippets?|contexts?|references?)\s+{_NUMBERS}"
_GIVEN = (
    r"(?:the|these|this|those|your)\s+(?:(?:given|provided|above|following|supplied|retrieved|available)\s+)*"
    r"(?:passages?|documents?|contexts?|texts?|sources?|excerpts?|snippets?|articles?|information|material)"
    r"(?:\s+(?:provided|given|above))?"
)
# No "denies" and no "doubts": what they lead in is not said.
_TELLS = (
    r"(?:says?|states?|mentions?|notes?|explains?|suggests?|argues?|indicates?|reports?|adds?|emphasi[sz]es?|highlights?|"
    r"concludes?|observes?)"
)
_FRAMES = re.compile(
    rf"""
    (?:^|(?<=[\s,;]))(?:based\s+(?:up)?on|according\s+to|as\s+(?:stated|mentioned|described|noted|explained|given)\s+(?:in|by)|
        as\s+per)\s+(?:{_NUMBERED}|{_GIVEN})\s*,?
  | \(\s*(?:(?:see|from|in|source|cf\.)\s*:?\s+)?{_NUMBERED}\s*\)
  | ^\W*{_NUMBERED}\s+(?:(?:also|further|additionally)\s+)?{_TELLS}\s+that\b
  | ^\W*(?:to\s+summari[sz]e|in\s+(?:summary|short|conclusion)|note|answer)\s*[,:]
    """,
    re.I | re.X,
)


def without_frames(text: str) -> str:
    """Return a sentence with blanks in place of "Based on the given passages," and its like: offsets stay.

    A sentence that is nothing else stays as it is.
    """
    found = _FRAMES.sub(lambda frame: " " * len(frame.group()), text)
    return found if found.strip(" .,;:") else text
