"""Contigs by other names: the reference has chr1 where a file has 1, and chrM where it has MT."""

from collections.abc import Collection
from itertools import islice

from readwarp.wording import nearest

REMEDIES = {  # of a file whose contigs have other names; {add}: whether the reference's begin with chr
    "intervals": "rename those of the file, as by `sed '{sed}'`",
    "alignments": "take the reference that it was made with, or rename: `samtools reheader -c \"sed '{header}'\"`",
    "variants": "rename those of the file: `bcftools annotate --rename-chrs NAMES`, a line `{old} {new}` for each",
}


def core(name: str) -> str:
    """What is left of a name without chr and whatever the case of its letters; mt is m."""
    short = name.lower().removeprefix("chr")
    return "m" if short == "mt" else short


def other_name(name: str, known: Collection[str]) -> str | None:
    """The known contig that is probably the same; None if there is none."""
    own = core(name)
    return next((each for each in known if core(each) == own), None)


def explain_absent(name: str, known: Collection[str], kind: str = "") -> str:
    """The reason of an error about a contig that the reference lacks.

    known: the names in the reference. kind: of the file that has the name, of `REMEDIES`; none: a text.
    """
    same, near = other_name(name, known), nearest(name, known)
    if same is not None:
        hint = f"which calls it {same!r}" + (f": {remedy_for(kind, name, same)}" if kind else "")
    else:
        hint = f"which has {repr(near) if near else listed(known)}"
    return f"no contig {name!r} in the reference, {hint}"


def explain_strange(name: str, known: Collection[str]) -> str:
    """The rest of an error about a contig of a file that the reference lacks."""
    same = other_name(name, known)
    return f"which the reference calls {same!r}" if same is not None else "which is not in the reference"


def remedy_for(kind: str, name: str, same: str) -> str:
    """How to rename the contigs of a file: `name` is one of its names, `same` the reference's for it."""
    adds = same.lower().startswith("chr")
    sed = "s/^/chr/" if adds else "s/^chr//"
    header = "s/SN:/SN:chr/" if adds else "s/SN:chr/SN:/"
    return REMEDIES[kind].format(sed=sed, header=header, old=name, new=same)


def listed(names: Collection[str]) -> str:
    """The first names."""
    return ", ".join(map(repr, islice(names, 3))) + (", ..." if len(names) > 3 else "")
