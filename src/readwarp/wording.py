"""Words of messages: numbers with their nouns, and the known word that a mistyped one resembles."""

from collections.abc import Iterable


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Format `1 variant`, `2,345 variants`. plural: if it is not the noun with (e)s."""
    several = plural or (f"{noun}es" if noun.endswith(("ch", "s", "x")) else f"{noun}s")
    return f"{number:,} {noun if number == 1 else several}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most like this one, ignoring case; None if none is."""
    from difflib import get_close_matches

    spelled = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), spelled, 1, 0.7)
    return spelled[found[0]] if found else None


def printable(text: str) -> str:
    """Return the text as one printable line: characters that would steer the terminal are spelled, such as `\\x1b`."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
