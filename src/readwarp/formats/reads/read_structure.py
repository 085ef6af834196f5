"""Read structures: the meaning of each base of a read, in the notation of fgbio and Picard.

`8M12S+T`: 8 bases of the molecular identifier, 12 skipped ones, and the template. Segments are a length and a letter: T
template, M molecular identifier, B sample barcode, C cell barcode, S skipped. `+` instead of a length means the
remaining bases, in a T or S.
"""

import re

from readwarp.config import UMI_SOURCES, ReadStructure, UmiParameters
from readwarp.errors import UsageError
from readwarp.wording import nearest

SEGMENT = re.compile(r"(\d+|\+)([A-Za-z])")
KINDS = "TMBCS"


def parse_umi(text: str, duplex: bool) -> UmiParameters:
    """Parse the value of --umi. Raises UsageError."""
    if text in UMI_SOURCES:
        return UmiParameters(text, duplex=duplex)
    words = re.split(r"[,\s]+", text.strip())
    if not any(character.isdigit() or character == "+" for character in text):
        hint = f" (did you mean {near}?)" if (near := nearest(text, UMI_SOURCES)) else ""
        known = f"not {', '.join(UMI_SOURCES)} or a read structure such as 8M12S+T"
        raise UsageError(f"--umi {text}: {known}{hint}")
    structures = tuple(parse_structure(text, word) for word in words)
    if len(structures) > 2:
        raise UsageError(f"--umi {text}: has {len(structures)} read structures; single reads need one, mates two")
    lengths = [length for each in structures for kind, length in each.segments if kind == "M"]
    if not lengths:
        raise UsageError(f"--umi {text}: has no M, the bases of the UMI")
    if duplex and (len(lengths) != 2 or lengths[0] != lengths[1]):
        raise UsageError(f"--umi {text}: --umi-duplex needs two UMIs of equal length, such as 8M+T,8M+T")
    return UmiParameters("structure", structures, duplex)


def parse_structure(option: str, text: str) -> ReadStructure:
    """Parse a read structure. Raises UsageError, which names the whole option."""
    found, at = list(SEGMENT.finditer(text)), 0
    segments: list[tuple[str, int | None]] = []
    for each in found:
        number, kind = each.groups()
        if each.start() != at or kind not in KINDS:
            break
        segments.append((kind, None if number == "+" else int(number)))
        at = each.end()
    if at != len(text) or not segments:
        wanted = "a number or +, then T, M, B, C or S"
        raise UsageError(f"--umi {option}: {text[at:] or 'nothing'!r} is not a segment of a read structure ({wanted})")
    if any(length == 0 for _, length in segments):
        raise UsageError(f"--umi {option}: a segment has no bases")
    rest = [kind for kind, length in segments if length is None]
    if len(rest) > 1:
        raise UsageError(f"--umi {option}: {text} has more than one +")
    if rest and rest[0] not in "TS":
        raise UsageError(f"--umi {option}: {text}: the length of {rest[0]} must be a number")
    if not any(kind == "T" for kind, _ in segments):
        raise UsageError(f"--umi {option}: {text} has no T, the bases that are aligned")
    return ReadStructure(tuple(segments))


def check_mates(parameters: UmiParameters, mates: int) -> None:
    """Raise UsageError unless the read structures fit single reads (mates: 1) or pairs (2)."""
    number = len(parameters.structures)
    if number == 1 and mates == 2:
        raise UsageError("--umi: pairs need two read structures, one for each mate, such as 8M+T,+T")
    if number == 2 and mates == 1:
        raise UsageError("--umi: unpaired reads need one read structure, not two")
