"""Which names the formats can hold: of contigs, of samples and read groups, and of files named after them.

A name that a format cannot hold would end its field or its line: what follows would be read as something else. Such a
name is refused before work begins. Others are kept as they are, whatever they mean to a shell, a browser or a terminal.
"""

import re
import unicodedata

CONTIG = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~,-][0-9A-Za-z!#$%&*+./:;=?@^_|~,-]*")
BREAKS = {"Cc", "Zl", "Zp", "Cs"}  # control characters, ends of lines and paragraphs, halves of characters
MAX_FILE_NAME, ROOM = 255, 64  # bytes of a file's name, and of what is added to a sample's name
INDEXED = "##idx##"  # to htslib, what follows in a file's name is that of its index
ADDRESS = re.compile(r"[A-Za-z0-9+.-]{2,}:")  # to htslib, a protocol, such as https:


def contig_problem(name: str) -> str | None:
    """Why SAM cannot hold the name of a contig (specification, 1.2.1); commas, which are in use, are allowed."""
    if not name:
        return "the contig has no name"
    if not name.isascii() or not name.isprintable():
        return "its name is not printable ASCII"
    if CONTIG.fullmatch(name):
        return None
    strange = next((letter for letter in name if not CONTIG.fullmatch(f"a{letter}")), name[0])
    where = "begin with" if strange == name[0] and CONTIG.fullmatch(f"a{strange}") else "have"
    return f"the name of a contig cannot {where} {strange!r} in SAM and VCF: rename it"


def text_problem(text: str) -> str | None:
    """Why a header of SAM or VCF cannot hold a name or another text."""
    strange = next((letter for letter in text if unicodedata.category(letter) in BREAKS), None)
    return None if strange is None else f"has {strange!r}, which a header cannot hold"


def sample_problem(name: str) -> str | None:
    """Why a VCF cannot name a sample so."""
    return text_problem(name) if name.strip(" ") else "is blank"


def file_problem(name: str) -> str | None:
    """Why files cannot be named after a sample."""
    if "/" in name:
        return "has a slash"
    if name[:1] in ("", ".", "-"):
        return f"begins with {name[0]!r}" if name else "is blank"
    if ADDRESS.match(name):
        return "begins like an address"
    if INDEXED in name:
        return f"has {INDEXED!r}"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_FILE_NAME - ROOM:
        return f"has more than {MAX_FILE_NAME - ROOM} bytes"
    return sample_problem(name)
