"""What GenomicsDBImport, GenotypeGVCFs, CombineGVCFs and GLnexus ask of the gVCF of one sample, as rules on its lines.

Sources: GATK's documentation and issues 3429, 4514, 5113, 6158, GenomicsDB's 167 and its wiki ("cells must be in column
major order"), GLnexus' wiki on configuration and its issues 153, 156, 276.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import comb
from pathlib import Path

BLOCK_FIELDS = "GT:DP:GQ:MIN_DP:PL"
ORDER = ("GT", "AD", "DP", "GQ", "PGT", "PID", "PL", "PS", "SB", "SBI")
TYPES = {  # Number and Type that the tools declare themselves
    ("FORMAT", "GT"): ("1", "String"),
    ("FORMAT", "AD"): ("R", "Integer"),
    ("FORMAT", "DP"): ("1", "Integer"),
    ("FORMAT", "GQ"): ("1", "Integer"),
    ("FORMAT", "MIN_DP"): ("1", "Integer"),
    ("FORMAT", "PGT"): ("1", "String"),
    ("FORMAT", "PID"): ("1", "String"),
    ("FORMAT", "PL"): ("G", "Integer"),
    ("FORMAT", "PS"): ("1", "Integer"),
    ("FORMAT", "SB"): ("4", "Integer"),
    ("INFO", "DP"): ("1", "Integer"),
    ("INFO", "END"): ("1", "Integer"),
    ("INFO", "RAW_MQandDP"): ("2", "Integer"),
    ("INFO", "MQRankSum"): ("1", "Float"),
    ("INFO", "ReadPosRankSum"): ("1", "Float"),
    ("INFO", "BaseQRankSum"): ("1", "Float"),
}


def faults_of(path: Path, ploidy: int = 2) -> list[str]:
    """The rules that a plain gVCF of one sample breaks, each with its line."""
    lines = path.read_text().splitlines()
    header, rows = [x for x in lines if x.startswith("#")], [x.split("\t") for x in lines if not x.startswith("#")]
    out = list(faults_of_header(header))
    for row in rows:
        out += [f"{fault}: {' '.join(row)}" for fault in faults_of_row(row, ploidy)]
    out += [f"{fault}: {' '.join(other)}" for one, other in pairwise(rows) for fault in faults_between(one, other)]
    return out


def faults_of_header(header: list[str]) -> Iterator[str]:
    declared: dict[tuple[str, str], tuple[str, str]] = {}
    for line in header:
        if match := re.match(r"##(INFO|FORMAT|FILTER)=<ID=([^,]+)(?:,Number=([^,]+),Type=([^,]+))?", line):
            declared[match[1], match[2]] = (match[3], match[4])
    for (kind, name), what in declared.items():
        other = {"INFO": "FORMAT", "FORMAT": "INFO"}.get(kind)
        if other and declared.get((other, name), what) != what:
            yield f"{name} differs in INFO and FORMAT"  # "Duplicate field name found in vid attribute"
        if kind != "FILTER" and ("FILTER", name) in declared:
            yield f"{name} is a filter too"
    for key, what in TYPES.items():
        if declared.get(key, what) != what:
            yield f"{key} is {declared[key]}"
    if not any(line.startswith("##ALT=<ID=NON_REF,") for line in header):
        yield "<NON_REF> is not declared"
    contigs = [line for line in header if line.startswith("##contig")]
    if not contigs or not all(re.match(r"##contig=<ID=[^,>]+,length=\d+", line) for line in contigs):
        yield "a contig without its length"


def faults_of_row(row: list[str], ploidy: int) -> Iterator[str]:
    _, position, _, ref, alt, _, _, info, keys, column = row
    alts, facts = alt.split(","), dict(x.partition("=")[::2] for x in info.split(";"))
    values = dict(zip(keys.split(":"), column.split(":"), strict=True))
    if alts[-1] != "<NON_REF>":
        yield "the last ALT is not <NON_REF>"
    phred = [int(x) for x in values["PL"].split(",")]
    copies = len(re.split(r"[/|]", values["GT"]))
    if len(phred) != comb(len(alts) + copies, copies) or copies != ploidy:
        yield "PL has not a value for each genotype"
    if min(phred) != 0:
        yield "no PL is 0"
    if alts == ["<NON_REF>"]:
        if keys != BLOCK_FIELDS:
            yield f"FORMAT of a block is not {BLOCK_FIELDS}"
        if set(facts) != {"END"} or int(facts["END"]) < int(position) or len(ref) != 1:
            yield "a block has not END alone, or not one base as REF"
        if re.split(r"[/|]", values["GT"]) not in (["0"] * copies, ["."] * copies) or phred[0] != 0:
            yield "a block is not of the reference"
        if int(values["MIN_DP"]) > int(values["DP"]) or not 0 <= int(values["GQ"]) <= 99:
            yield "MIN_DP is above DP, or GQ is not 0 to 99"
        return
    names = keys.split(":")
    if names != [name for name in ORDER if name in names] or not {"GT", "AD", "DP", "GQ", "PL", "SB"} <= set(names):
        yield "FORMAT of a record"
    if len(values["AD"].split(",")) != len(alts) + 1 or len(values["SB"].split(",")) != 4:
        yield "AD does not have a value for each allele, or SB not four"
    raw = facts.get("RAW_MQandDP", "")
    if not re.fullmatch(r"\d+,\d+", raw) or facts.get("DP") != raw.split(",")[1]:
        yield "RAW_MQandDP is not a sum and the depth"
    if ("|" in values["GT"]) != ("PID" in values and values["PID"] != "."):
        yield "a phased genotype without PID, or the reverse"
    if (
        "PID" in values
        and values["PID"] != "."
        and not re.fullmatch(rf"{values['PS']}_[ACGTN]+_[ACGTN*]+", values["PID"])
    ):
        yield "PID is not position, REF and ALT of the set's first record"
    if "PGT" in values and values["PGT"] != "." and values["PGT"] != values["GT"]:
        yield "PGT is not GT"
    if "AF" in facts or "AC" in facts or "AN" in facts:
        yield "counts of alleles"


def faults_between(one: list[str], other: list[str]) -> Iterator[str]:
    """A cell of a sample begins after the one before it; blocks overlap nothing, and leave no gap."""
    if one[0] != other[0]:
        return
    start = int(other[1])
    if start <= int(one[1]):
        yield "two lines of one position"
    last = int(one[7].removeprefix("END=")) if one[4] == "<NON_REF>" else int(one[1]) + len(one[3]) - 1
    if one[4] == "<NON_REF>" and start != last + 1:
        yield "a block overlaps the next line, or leaves a gap"
    if other[4] == "<NON_REF>" and start <= last:
        yield "a block begins under a record"
