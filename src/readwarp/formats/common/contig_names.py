"""Contigs under other names: chr1 in the reference for 1 in a file, chrM for MT."""

import re
from collections.abc import Collection
from itertools import islice

from readwarp.wording import nearest

REMEDIES = {  # for a file whose contigs have other names; {sed}: a script for them
    "intervals": "rename those of the file, as by `sed '{sed}'`",
    "alignments": "take the reference that it was made with, or rename: `samtools reheader -c \"sed '{sed}'\"`",
    "variants": "rename those of the file: `bcftools annotate --rename-chrs NAMES`, a line `{old} {new}` for each",
}


def core(name: str) -> str:
    """Reduce a name to its core, without chr and ignoring case; mt is m."""
    short = name.lower().removeprefix("chr")
    return "m" if short == "mt" else short


def other_name(name: str, known: Collection[str]) -> str | None:
    """Return the known contig that is probably the same; None if there is none."""
    own = core(name)
    return next((each for each in known if core(each) == own), None)


def explain_absent(name: str, known: Collection[str], kind: str = "") -> str:
    """Explain an error about a contig that the reference lacks.

    known: names in the reference. kind: of the file with the name, from `REMEDIES`; empty: a text.
    """
    same, near = other_name(name, known), nearest(name, known)
    if same is not None:
        hint = f"which calls it {same!r}" + (f": {remedy_for(kind, name, same, known)}" if kind else "")
    else:
        hint = f"which has {repr(near) if near else listed(known)}"
    return f"no contig {name!r} in the reference, {hint}"


def explain_strange(name: str, known: Collection[str]) -> str:
    """Return the rest of an error about a contig of a file that the reference lacks."""
    same = other_name(name, known)
    return f"which the reference calls {same!r}" if same is not None else "which is not in the reference"


def remedy_for(kind: str, name: str, same: str, known: Collection[str]) -> str:
    """Explain how to rename a file's contigs, such as `name`, which the reference (`known`) calls `same`."""
    sed = sed_script("SN:" if kind == "alignments" else "^", name, same, known)
    return REMEDIES[kind].format(sed=sed, old=name, new=same)


def sed_script(at: str, name: str, same: str, known: Collection[str]) -> str:
    """Return a script that renames contigs after `at`: this one, or its prefix and that of all others, and M or MT."""
    start = at.removeprefix("^")
    old, new = (each[:3] if each.lower().startswith("chr") else "" for each in (name, same))
    if old == new:
        return rf"s/{at}{re.escape(name)}\b/{start}{same}/"
    prefix = f"s/{at}{old}/{start}{new}/"
    ours = (each.removeprefix(new) for each in known if core(each) == "m")
    other = {"M": "MT", "MT": "M"}
    return next((rf"s/{at}{old}{other[own]}\b/{start}{old}{own}/;{prefix}" for own in ours if own in other), prefix)


def listed(names: Collection[str]) -> str:
    """List the first names."""
    return ", ".join(map(repr, islice(names, 3))) + (", ..." if len(names) > 3 else "")
