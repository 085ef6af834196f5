"""Names that the formats can hold: of contigs, samples and read groups, and of files named after them.

A name that a format cannot hold would end its field or its line, and the rest would be misread. Such a name is rejected
before work begins. Others are kept, whatever they mean to a shell, a browser or a terminal.
"""

import re
import unicodedata

CONTIG = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~,-][0-9A-Za-z!#$%&*+./:;=?@^_|~,-]*")
BREAKS = {"Cc", "Zl", "Zp", "Cs"}  # control characters, ends of lines and paragraphs, surrogates
MAX_FILE_NAME, ROOM = 255, 64  # bytes of a file name, and of additions to a sample name
INDEXED = "##idx##"  # for htslib, the name of the index follows
ADDRESS = re.compile(r"[A-Za-z0-9+.-]{2,}:")  # for htslib, a protocol, such as https:


def contig_problem(name: str) -> str | None:
    """Explain why SAM cannot hold the name of a contig (specification, 1.2.1); commas are in use and allowed."""
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
    """Explain why a SAM or VCF header cannot hold a name or another text."""
    strange = next((letter for letter in text if unicodedata.category(letter) in BREAKS), None)
    return None if strange is None else f"has {strange!r}, which a header cannot hold"


def sample_problem(name: str) -> str | None:
    """Explain why a VCF cannot hold this sample name."""
    return text_problem(name) if name.strip(" ") else "is blank"


def file_problem(name: str) -> str | None:
    """Explain why files cannot be named after a sample."""
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
