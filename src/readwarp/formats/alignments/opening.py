"""Recognise a file of alignments by its first bytes and its header."""

from pathlib import Path

import pysam

from readwarp.errors import InputError
from readwarp.formats.common.compressed import is_bgzf
from readwarp.formats.common.silence import quiet_htslib


def is_cram(path: Path) -> bool:
    """Return whether the file is CRAM; BAM otherwise. Raises InputError for any other file."""
    try:
        with path.open("rb") as file:
            head = file.read(14)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error
    if head[:4] != b"CRAM" and not is_bgzf(head):
        raise InputError(path, "is neither BAM nor CRAM (SAM comes through stdin: `-`)")
    return head[:4] == b"CRAM"


def header_from(path: Path, text: str) -> pysam.AlignmentHeader:
    """Parse a header. Raises InputError."""
    with quiet_htslib():
        try:
            header = pysam.AlignmentHeader.from_text(text)
            groups = header.to_dict().get("RG", [])  # forces the parsing
        except ValueError as error:
            raise InputError(path, f"its header is not valid SAM ({error})") from error
        except KeyError as error:  # pysam's, for CL in a line other than @PG
            raise InputError(path, f"its header has {error.args[0]} in a line that may not have it") from error
    if not all("ID" in group for group in groups):
        raise InputError(path, "its header has a read group without an ID")
    return header
