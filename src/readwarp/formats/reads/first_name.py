"""The name of a file's first read, and the instrument that it tells."""

import re
from contextlib import closing
from typing import NamedTuple

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.alignments.header import read_binary_header
from readwarp.formats.alignments.layout import NAME
from readwarp.formats.common.source import Source

ROOM = 1 << 10  # bytes that hold the name and its comment


class Instrument(NamedTuple):
    """Instrument fields from a read's name."""

    platform: str | None = None  # PL of the SAM specification; None: unknown
    unit: str | None = None  # PU: flow cell and lane, or the movie


NAMES = (  # patterns of instruments' read names, platforms, and units by groups of the pattern
    (r"AV\d+:[^:]*:(?P<cell>[^:]+):(?P<lane>\d+):\d+:\d+:\d+", "ELEMENT", "{cell}.{lane}"),
    (r"[^:]+:\d+:(?P<cell>[^:]+):(?P<lane>\d+):\d+:-?\d+:-?\d+(:[ACGTN+]+)?", "ILLUMINA", "{cell}.{lane}"),
    (r"[^:]+:\d+:\d+:-?\d+:-?\d+", "ILLUMINA", None),  # until CASAVA 1.8
    (r"(?P<cell>[A-Z]{1,3}\d{6,})L(?P<lane>\d+)C\d{3}R\d+(_\d+)?", "DNBSEQ", "{cell}.{lane}"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ONT", None),
    (r"(?P<movie>m\w+)/\d+/(ccs(/(fwd|rev))?|\d+_\d+)", "PACBIO", "{movie}"),
    (r"[A-Z0-9]{5}:\d+:\d+", "IONTORRENT", None),
)


def instrument_of(header: str) -> Instrument:
    """Recognise the instrument by a read's name and comment; archives put their own name before the instrument's."""
    for word in header.split()[:2]:
        name = re.sub(r"(#[^/]*)?(/[12])?$", "", word)
        for pattern, platform, unit in NAMES:
            if found := re.fullmatch(pattern, name):
                return Instrument(platform, unit and unit.format(**found.groupdict()))
    return Instrument()


def first_name(path: str, kind: str) -> str | None:
    """Return name and comment of the first read of a file; None if there is none, and for CRAM.

    kind: of the file, as in `formats.common.source.kind_of`. Raises InputError for an unreadable file.
    """
    if kind not in ("fastq", "fasta", "bam"):
        return None
    with closing(Source(path)) as source:
        if kind == "bam":
            read_binary_header(source.read_into, path)
        data = np.zeros(ROOM, np.uint8)
        source.read_into(data)
    text = data[NAME:].tobytes().partition(b"\0")[0] if kind == "bam" else data.tobytes().partition(b"\n")[0][1:]
    return text.decode("latin-1") or None


def first_instrument(path: str, kind: str) -> Instrument:
    """Return the instrument of a file's first read; damage is left to the file's reader."""
    try:
        return instrument_of(first_name(path, kind) or "")
    except InputError:
        return Instrument()
