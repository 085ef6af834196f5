"""Misplaced mates, detected by the names of the first reads and of the files."""

import logging
import re
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.common.source import Source
from readwarp.formats.reads.raw import Chunk, ReadInput

SAMPLE_BYTES, SAMPLE = 1 << 16, 256  # examined bytes of text, and names
CASAVA = re.compile(r"([12]):[YN]:\d+(?::|$)")  # a comment of Illumina's software
IN_FILE_NAME = re.compile(r"(?<=[._-])R?([12])(?=[._-])|(?<=[._-]R)([12])(?=[._-])")
ORDINALS = {1: "first", 2: "last"}
logger = logging.getLogger("readwarp")


class Name(NamedTuple):
    """Fragment and mate from a header line."""

    fragment: str  # the name without /1 and /2
    mate: int  # 1 or 2; 0: not given


def parse_header(line: str) -> Name:
    """Parse a header line without its first letter."""
    words = line.strip().split(maxsplit=1) or [""]
    if words[0][-2:] in ("/1", "/2"):
        return Name(words[0][:-2], int(words[0][-1]))
    found = CASAVA.match(words[1]) if len(words) == 2 else None
    return Name(words[0], int(found[1]) if found else 0)


def names_in(text: bytes, is_fastq: bool) -> list[Name]:
    """Parse the names of a text's first records."""
    lines = text.split(b"\n")[:-1]
    headers = lines[::4] if is_fastq else [line for line in lines if line.startswith(b">")]
    return [parse_header(line[1:].decode("latin-1")) for line in headers[:SAMPLE]]


def names_of_chunk(chunk: Chunk) -> list[list[Name]]:
    """Parse the names of each file's first records."""
    texts = (text.letters[text.start : min(text.stop, text.start + SAMPLE_BYTES)] for text in chunk.data)
    return [names_in(letters.tobytes(), chunk.kind == "fastq") for letters in texts]


def check_files(read_input: ReadInput) -> None:
    """Run `check_mates` on an input whose files can be read twice; damage is left to the file's reader."""
    names = []
    for path in read_input.paths:
        if not Path(path).is_file():
            return
        with closing(Source(path)) as source:
            data = np.empty(SAMPLE_BYTES, np.uint8)
            try:
                text = data[: source.read_into(data)].tobytes()
            except InputError:
                return
            names.append(names_in(text, source.kind == "fastq"))
    check_mates(names, read_input)


def check_mates(names: Sequence[Sequence[Name]], read_input: ReadInput) -> None:
    """Raise InputError if the names of the files' first records, or of the files, contradict the options.

    names: per file of an input of FASTQ or FASTA.
    """
    paths = read_input.paths
    if read_input.interleaved or read_input.single:
        return
    for path, own in zip(paths, names, strict=True):
        if is_interleaved(own):
            text = f"looks interleaved ({own[0].fragment} occurs twice): give --interleaved (-p)"
            raise InputError(path, text if len(paths) == 2 else f"{text}, or --single to align them as unpaired reads")
    if len(paths) == 2:
        _check_order(paths, names)


def warn_of_neighbours(names: Sequence[Name], read_input: ReadInput) -> None:
    """Warn if neighbours of one name among a file's first reads contradict the options."""
    same, path = [one.fragment for one, other in pairwise(names) if one.fragment == other.fragment], read_input.paths[0]
    if read_input.interleaved and not same and len(names) > 1:
        logger.warning("%s: no two neighbours among the first reads have the same name, as mates have with -p", path)
    if same and len(read_input.paths) == 1 and not (read_input.interleaved or read_input.single):
        text = "%s: neighbours have the same name (%s), but are aligned as single reads"
        logger.warning(f"{text}: add -p if they are mates, else --single", path, same[0])


def is_interleaved(names: Sequence[Name]) -> bool:
    """Return whether each odd name belongs to the mate of the read before.

    Names without a mate number must also change from one pair to the next.
    """
    pairs = list(zip(names[::2], names[1::2], strict=False))
    if not pairs or any(first.fragment != last.fragment for first, last in pairs):
        return False
    if all((first.mate, last.mate) == (1, 2) for first, last in pairs):
        return True
    says_nothing = not any(name.mate for name in names)
    return says_nothing and len(pairs) > 1 and all(one[0] != other[0] for one, other in pairwise(pairs))


def _check_order(paths: Sequence[str], names: Sequence[Sequence[Name]]) -> None:
    """Raise InputError for last reads before first ones, and for two files of the same mates."""
    said = [{name.mate for name in own} for own in names]
    if said == [{2}, {1}] or (said == [{0}, {0}] and (mates_by_endings(names) or mates_of_files(paths)) == (2, 1)):
        text = f"contains R2 reads, {paths[1]} R1 reads: swap the two files"
        raise InputError(paths[0], text)
    if said[0] == said[1] and said[0] in ({1}, {2}):
        (mate,) = said[0]
        text = f"contains R{mate} reads, as {paths[0]} does: give files as R1 R2 R1 R2 ..."
        raise InputError(paths[1], f"{text}, and --single if the reads are unpaired")


def mates_by_endings(names: Sequence[Sequence[Name]]) -> tuple[int, int] | None:
    """Return which mates two files hold, by .1 and .2 at the ends of all names, as written by `fastq-dump -I`.

    In fragments numbered by `fasterq-dump`, these endings soon differ from one name to the next.
    """
    ends = [{name.fragment[-2:] for name in own} for own in names]
    stems = {own[0].fragment[:-2] for own in names if own}
    known = (each for each in ((1, 2), (2, 1)) if ends == [{f".{mate}"} for mate in each])
    return next(known, None) if len(stems) == 1 else None


def mates_of_files(paths: Sequence[str]) -> tuple[int, int] | None:
    """Return which mates two files hold, by names that differ only in this, such as `x_R1.fq` and `x_R2.fq`."""
    one, other = (Path(path).name for path in paths)
    differ = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(differ) != 1:
        return None
    places = {found.end() - 1 for found in IN_FILE_NAME.finditer(one)}
    return (int(one[differ[0]]), int(other[differ[0]])) if differ[0] in places and other[differ[0]] in "12" else None


def find_other_file(path: str) -> Path | None:
    """Return the file beside one of first reads that holds their mates, by its name; None if there is none."""
    name = Path(path).name
    for found in IN_FILE_NAME.finditer(name):
        at = found.end() - 1
        other = Path(path).with_name(f"{name[:at]}2{name[at + 1 :]}")
        if name[at] == "1" and other.is_file():
            return other
    return None


def explain_names(read_input: ReadInput, first: str, last: str) -> str:
    """Explain why two mates may have different names, and what to do."""
    if first[:-2] == last[:-2] and (first[-2:], last[-2:]) in (("_1", "_2"), (":1", ":2")):
        return "these endings are not cut off: write them as /1 and /2 (fasterq-dump writes none)"
    own = [IN_FILE_NAME.findall(Path(path).name)[-1:] for path in read_input.paths]
    if len(own) == 2 and own[0] == own[1] != []:
        mate = int("".join(own[0][0]))
        text = f"judging by their names, both hold {ORDINALS[mate]} reads: give files in the order R1 R2 R1 R2"
        other = find_other_file(read_input.paths[0])
        return f"{text}, {read_input.paths[0]} {other} ..." if other else text
    return "different libraries, files out of step (was one filtered or sorted alone?), or not in the order R1 R2 R1 R2"
