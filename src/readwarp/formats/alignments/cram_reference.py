"""The sequences with which a CRAM file was written, in htslib's form: FASTA with an index under the file's names.

htslib accepts any contig of the same name, and checks nothing in slices with reads of several contigs: another build
would silently give other bases. So contigs are found here by the M5 of the header, whatever their names, and without M5
by name and length: in the user's files, then in the one that UR names. REF_CACHE and REF_PATH also go by M5; htslib
looks there for the others. A missing contig is listed beyond the end of the FASTA file, so that htslib fails instead of
trusting UR. Files that need no sequences, or have them embedded, are not affected.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from hashlib import md5
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.errors import InputError, ReadwarpError
from readwarp.formats.alignments.header import Contig, contig_in, field, lines_of
from readwarp.formats.alignments.samtools import reference_in, run, write_fasta
from readwarp.formats.common.fasta import read_contigs, read_pieces
from readwarp.formats.common.index_file import IndexFile, describe_source, is_index
from readwarp.formats.common.source import reading
from readwarp.system.ahead import read_ahead

Names = dict[str, str]  # contigs in the CRAM file -> in a reference
NO_SEQUENCE = re.compile(r"Unable to fetch reference (?P<contig>.+):\d+-\d+|Failure to decode slice")  # of htslib
VARIABLES = ("REF_CACHE", "REF_PATH")
NOWHERE = 1 << 45  # bytes, beyond the end of any FASTA file
ANY_TEXT = "surrogateescape"
READ_AHEAD = 8  # pieces of contigs


class CramReference(NamedTuple):
    """Sequences found for a CRAM file."""

    fasta: str  # with a .fai
    missing: tuple[Contig, ...]  # in no file
    places: tuple[str, ...]  # searched locations

    def explain(self, said: str) -> str:
        """Explain why the file cannot be decoded. said: htslib's message."""
        found = NO_SEQUENCE.match(said)
        if not found or not self.missing:
            return f"cannot be decoded ({said})"
        contig = next((contig for contig in self.missing if contig.name == found["contig"]), self.missing[0])
        known = f"M5 {contig.md5}" if contig.md5 else f"{contig.length} bases, without M5"
        remedy = "give the FASTA file that it was written with (--input-reference or --reference)"
        return f"the sequence of its contig {contig.name} ({known}) is not in {', '.join(self.places)}: {remedy}"


def find_reference(header: str, given: Sequence[str], folder: Path) -> CramReference:
    """Find the sequences for a CRAM file with this header.

    given: references of the user. folder: where the FASTA file is made, usually of links. Raises InputError for a given
    file that cannot be read.
    """
    lines = lines_of(header, "SQ")
    wanted = [contig._replace(md5=contig.md5.lower()) for contig in map(contig_in, lines)]
    origins = dict.fromkeys(filter(None, map(_origin_of, lines)))
    found, every = dict[str, Names](), set[str]()
    for path in dict.fromkeys((*given, *origins)):
        if len(every) < len(wanted):
            found[path] = _match(wanted, sums_of(path) if path in given else _sums_of_origin(path))
            every |= found[path].keys()
    missing = tuple(contig for contig in wanted if contig.name not in every and not _is_cached(contig.md5))
    fasta = folder / "cram.fa"
    index = _lay_out(found, {contig.name: contig.length for contig in wanted if contig.name in every}, fasta)
    if "://" not in os.environ.get("REF_PATH", ""):
        index |= {contig.name: f"{contig.name}\t{contig.length}\t{NOWHERE}\t60\t61\n" for contig in missing}
    Path(f"{fasta}.fai").write_text("".join(index.values()), errors=ANY_TEXT)
    places = [path if path in given else _describe_origin(path) for path in found]
    places += [name if os.environ.get(name) else f"{name} (not set)" for name in VARIABLES]
    return CramReference(str(fasta), missing, tuple(places))


def sums_of(path: str) -> dict[str, tuple[int, str]]:
    """Return length and M5 of a reference's contigs, by name: from its index, or computed. Raises InputError."""
    try:
        return _sums_of(path, *describe_source(path).values())
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error


@lru_cache(maxsize=8)
def _sums_of(path: str, *state: int) -> dict[str, tuple[int, str]]:
    """Compute or read the sums. state: size and time of the file."""
    index = path if is_index(path) else f"{path}.rwx"
    with suppress(InputError):
        if is_index(index):
            facts = IndexFile(Path(index)).description
            if index == path or tuple((facts["source"] or {}).values()) == state:
                return dict(zip(facts["names"], zip(facts["lengths"], facts["md5"], strict=True), strict=True))
    lengths, sums = dict[str, int](), dict[str, Any]()
    with closing(read_ahead(read_pieces(path), READ_AHEAD)) as pieces:
        for name, letters, _ in pieces:
            sums.setdefault(name, md5(usedforsecurity=False)).update(letters)
            lengths[name] = lengths.get(name, 0) + len(letters)
    return {name: (length, sums[name].hexdigest()) for name, length in lengths.items()}


def _sums_of_origin(path: str) -> dict[str, tuple[int, str]]:
    with suppress(InputError):  # the file that a header names is often gone
        return sums_of(path) if Path(path).is_file() else {}
    return {}


def _match(wanted: Sequence[Contig], sums: dict[str, tuple[int, str]]) -> Names:
    names = {own: name for name, (_, own) in sums.items()}
    found = {}
    for contig in wanted:
        length, own = sums.get(contig.name, (0, ""))
        if contig.md5 not in ("", own):
            name = names.get(contig.md5)
        else:
            name = contig.name if length == contig.length else None
        if name is not None:
            found[contig.name] = name
    return found


def _lay_out(found: dict[str, Names], lengths: dict[str, int], fasta: Path) -> dict[str, str]:
    """Make `fasta` from one file with all contigs of these lengths, else from several; return its index, by name."""
    if not lengths:
        fasta.touch()
        return {}
    path = next((path for path, names in found.items() if len(names) == len(lengths)), None)
    if path is None:
        write_fasta(fasta, _join(found))
        names, source = {name: name for name in lengths}, fasta
    else:
        names, source = found[path], Path(reference_in(path, fasta.parent))
        for ending in ("", ".gzi"):
            if (part := Path(f"{source}{ending}")).exists():
                Path(f"{fasta}{ending}").symlink_to(part.resolve())
    lines = _index_of(source, path)
    for name, own in names.items():
        if not lines.get(own, "").startswith(f"{lengths[name]}\t"):
            fault = f"is not the index of {path}, by its contig {own}: make one with `samtools faidx`"
            raise InputError(f"{source}.fai", fault)
    return {name: f"{name}\t{lines[own]}\n" for name, own in names.items()}


def _index_of(fasta: Path, path: str | None) -> dict[str, str]:
    """Return the lines of a .fai by name, made if absent. path: the name that the user knows."""
    index = Path(f"{fasta}.fai")
    if not index.exists():
        try:
            run("faidx", str(fasta))
        except ReadwarpError as error:
            raise InputError(path, f"cannot be indexed ({error})") from error
    with reading(index):
        lines = index.read_text(errors=ANY_TEXT).splitlines()
    return {name: rest for name, _, rest in (line.partition("\t") for line in lines)}


def _join(found: dict[str, Names]) -> Iterator[tuple[str, bytes]]:
    """Yield names and letters of the contigs, each once."""
    done = set[str]()
    for path, names in found.items():
        wanted: dict[str, list[str]] = {}
        for name in names.keys() - done:
            wanted.setdefault(names[name], []).append(name)
        for contig in read_contigs(path) if wanted else ():
            yield from ((name, contig.letters) for name in wanted.get(contig.name, ()))
        done |= names.keys()


def _origin_of(line: str) -> str | None:
    """Return the file that an @SQ line names; None for network addresses."""
    place = re.sub("^file:(//)?", "", field(line, "UR") or "")
    return place if "://" not in place else None


def _describe_origin(path: str) -> str:
    return f"{path} (UR)" if Path(path).is_file() else f"{path} (UR: no such file)"


def _is_cached(digest: str) -> bool:
    """Return whether a sequence is in a folder of REF_CACHE or REF_PATH."""
    patterns = [pattern for name in VARIABLES for pattern in os.environ.get(name, "").split(":")]
    return bool(digest) and any(Path(_expand(pattern, digest)).is_file() for pattern in patterns if pattern)


def _expand(pattern: str, digest: str) -> str:
    """Replace %s by the digest, and %2s by its next two letters; the rest becomes a name in that folder."""
    rest = digest

    def take(found: re.Match[str]) -> str:
        nonlocal rest
        size = int(found[1] or len(rest))
        taken, rest = rest[:size], rest[size:]
        return taken

    path = re.sub(r"%(\d*)s", take, pattern)
    return f"{path}/{rest}" if rest else path
