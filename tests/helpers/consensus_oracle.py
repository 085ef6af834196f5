"""Consensus reads as fgbio's documentation has them, in plain Python with floats, from records of pysam.

Slow and simple: no tables, no fixed point, sums of logarithms. `consensus_of` gives what is expected of a file.
"""

import math
from collections import Counter, defaultdict
from typing import Any

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def error_of(quality: int) -> float:
    return 10 ** (-quality / 10)


def either(one: float, other: float) -> float:
    large, small = max(one, other), min(one, other)
    return large if large >= math.exp(6) * small else large + small - 4 / 3 * large * small


def quality_of(error: float) -> int:
    return 93 if error < error_of(93) else math.floor(-10 * math.log10(error) + 0.001)


def call(column: list[tuple[str, int]], pre: int, post: int) -> tuple[str, float]:
    """The bases of a column and their qualities -> (base, quality before it is rounded down)."""
    logs = {}
    for candidate in "ACGT":
        terms = []
        for base, quality in column:
            error = min(0.999, either(error_of(post), error_of(quality)))
            terms.append(math.log(1 - error) if base == candidate else math.log(error / 3))
        logs[candidate] = math.fsum(terms)
    best = max(logs.values())
    leaders = [base for base, value in logs.items() if abs(value - best) < 1e-6]
    if len(leaders) > 1:
        return "N", 2
    others = math.fsum(math.exp(value - best) for base, value in logs.items() if base != leaders[0])
    return leaders[0], max(2.0, -10 * math.log10(either(error_of(pre), others / (1 + others))))


def aligned_pairs(read: dict[str, Any]) -> dict[int, int]:
    """Positions on the reference -> indices of the bases that are aligned there."""
    found, position, index = {}, read["position"], 0
    for operation, length in read["cigar"]:
        for _ in range(length):
            if operation in "M=X":
                found[position] = index
            position += operation in "M=XDN"
            index += operation in "M=XIS"
    return found


def merge_mates(one: dict[str, Any], other: dict[str, Any]) -> None:
    its = aligned_pairs(other)
    for position, i in aligned_pairs(one).items():
        if position not in its:
            continue
        j = its[position]
        a, b, q, r = one["bases"][i], other["bases"][j], one["qualities"][i], other["qualities"][j]
        if "N" in (a, b):
            continue
        if a == b:
            base, quality = a, min(93, q + r)
        elif q == r:
            base, quality = "N", 2
        else:
            base, quality = (a, q - r) if q > r else (b, r - q)
        one["bases"][i] = other["bases"][j] = base
        one["qualities"][i] = other["qualities"][j] = max(2, quality)


def read_of(record: Any) -> dict[str, Any]:
    cigar = [("MIDNSHP=X"[operation], length) for operation, length in record.cigartuples or []]
    return {
        "name": record.query_name,
        "bases": list(record.query_sequence or ""),
        "qualities": list(record.query_qualities or []),
        "cigar": cigar,
        "position": record.reference_start,
        "reverse": record.is_reverse,
        "segment": 0 if not record.is_paired else 1 if record.is_read1 else 2,
        "mapped": not record.is_unmapped,
        "record": record,
        "umi": record.get_tag("RX") if record.has_tag("RX") else None,
    }


def clip_of(cigar: list[tuple[str, int]]) -> int:
    return cigar[0][1] if cigar and cigar[0][0] == "S" else 0


def trim_and_orient(read: dict[str, Any], mate: dict[str, Any] | None, lowest: int) -> None:
    """What is beyond the mate's 5' end goes, then N at the end; both as the read was sequenced."""
    keep, pairs = len(read["bases"]), aligned_pairs(read)
    if mate and read["mapped"] and mate["mapped"] and read["reverse"] != mate["reverse"]:
        its = aligned_pairs(mate)
        start, stop = read["position"], max(pairs) + 1
        if read["reverse"]:
            bound = mate["position"] - clip_of(mate["cigar"])
            if bound < stop:
                inside = [i for p, i in pairs.items() if p >= bound]
                first = min(inside) - max(0, min(p for p in pairs if p >= bound) - bound if start > bound else 0)
                if start <= bound:
                    before = [i for p, i in pairs.items() if p < bound]
                    first = min(inside) if bound in pairs else max(before) + 1
                keep -= max(0, first)
        else:
            bound = max(its) + 1 + clip_of(mate["cigar"][::-1])
            if bound > start:
                inside = [p for p in pairs if p < bound]
                last = pairs[max(inside)] + (bound - stop if bound > stop else 0)
                keep = min(keep, last + 1)
    if read["reverse"]:
        read["bases"] = [base.translate(COMPLEMENT) for base in read["bases"][::-1]]
        read["qualities"] = read["qualities"][::-1]
        read["cigar"] = read["cigar"][::-1]
    for i, quality in enumerate(read["qualities"]):
        if quality < lowest:
            read["bases"][i], read["qualities"][i] = "N", 2
    while keep > 0 and read["bases"][keep - 1] == "N":
        keep -= 1
    read["bases"], read["qualities"] = read["bases"][:keep], read["qualities"][:keep]


def shape_of(read: dict[str, Any]) -> list[tuple[str, int]]:
    letters = []
    left = len(read["bases"])
    for operation, length in read["cigar"] if read["mapped"] else []:
        for _ in range(length):
            if left == 0:
                break
            letters.append("M" if operation in "M=XSH" else operation)
            left -= operation in "M=XIS"
    shape: list[tuple[str, int]] = []
    for letter in letters:
        if shape and shape[-1][0] == letter:
            shape[-1] = (letter, shape[-1][1] + 1)
        else:
            shape.append((letter, 1))
    return shape


def begins(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> bool:
    """Whether a shape is the beginning of another."""
    if len(one) > len(other):
        return False
    if not one:
        return True
    (letter, length), (its, most) = one[-1], other[len(one) - 1]
    return one[:-1] == other[: len(one) - 1] and letter == its and length <= most


def most_common(reads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: list[tuple[list, list]] = []
    for read in sorted(reads, key=lambda read: -len(read["bases"])):
        shape, found = shape_of(read), False
        for founder, members in groups:
            if begins(shape, founder):
                members.append(read)
                found = True
        if not found:
            groups.append((shape, [read]))
    if not groups:
        return []
    order = [(-len(members), [(length, "MIDN".index(letter)) for letter, length in shape]) for shape, members in groups]
    best = groups[min(range(len(groups)), key=order.__getitem__)][1]
    return [read for read in reads if any(read is each for each in best)]


def single_strand(reads: list[dict[str, Any]], needed: int, lowest: int, pre: int, post: int) -> list[dict] | None:
    """Columns of the consensus: base, quality, exact quality, depth, errors, bases."""
    if len(reads) < needed or not reads:
        return None
    length = sorted((len(read["bases"]) for read in reads), reverse=True)[needed - 1]
    columns = []
    for i in range(length):
        column = [(r["bases"][i], r["qualities"][i]) for r in reads if len(r["bases"]) > i and r["bases"][i] != "N"]
        counts = Counter(base for base, _ in column)
        if len(reads) == 1:
            base = reads[0]["bases"][i]
            exact = -10 * math.log10(either(error_of(reads[0]["qualities"][i]), error_of(min(pre, post))))
        else:
            base, exact = call(column, pre, post) if column else ("N", 2)
        errors = len(column) - counts[base]
        quality = min(93, math.floor(exact + 0.001))
        if len(reads) > 1 and len(column) < needed:
            base, quality, exact = "N", 0, 0
        elif base == "N" or quality < lowest:
            base, quality, exact = "N", 2, 2
        columns.append(
            {"base": base, "quality": quality, "exact": exact, "depth": len(column), "errors": errors, "counts": counts}
        )
    return columns


def duplex(
    one: list[dict] | None, other: list[dict] | None
) -> tuple[list[dict], list[dict] | None, list | None] | None:
    """-> (columns, those of the first strand, those of the second one)"""
    length = min(len(strand) for strand in (one, other) if strand is not None) if one or other else 0
    one = one if one and any(column["depth"] for column in one[:length]) else None
    other = other if other and any(column["depth"] for column in other[:length]) else None
    if not one or not other:
        alone = one or other
        return (alone, alone, None) if alone else None
    columns = []
    for a, b in zip(one[:length], other[:length], strict=True):
        if a["base"] == b["base"]:
            raw, quality = a["base"], min(93, a["quality"] + b["quality"])
        elif a["quality"] == b["quality"]:
            raw, quality = a["base"], 2
        else:
            raw, quality = (a if a["quality"] > b["quality"] else b)["base"], abs(a["quality"] - b["quality"])
        depth, counts = a["depth"] + b["depth"], a["counts"] + b["counts"]
        errors = 0 if raw == "N" else depth - counts[raw]
        is_masked = "N" in (a["base"], b["base"]) or quality <= 2
        base, quality = ("N", 2) if is_masked else (raw, quality)
        columns.append({"base": base, "quality": quality, "depth": depth, "errors": errors})
    return columns, one[:length], other[:length]


def umi_of(umis: list[str]) -> str | None:
    if len(umis) < 2:
        return umis[0] if umis else None
    letters = []
    for column in zip(*[umi for umi in umis if len(umi) == len(umis[0])], strict=True):
        counts = Counter(letter for letter in column if letter in "ACGT").most_common()
        if set(column) == {"-"}:
            letters.append("-")
        else:
            letters.append("N" if not counts or (counts[1:2] and counts[0][1] == counts[1][1]) else counts[0][0])
    return "".join(letters)


def consensus_of(records: list[Any], is_duplex: bool = False, limits: tuple = (1, 1, 1), lowest: int = 10) -> dict:
    """(molecule, segment) -> columns, strands and UMI of the expected consensus reads; error rates 45 and 40."""
    molecules: dict[str, list] = defaultdict(list)
    for record in records:
        molecule = record.get_tag("MI")
        read = read_of(record) | {"strand": molecule[-1] if is_duplex else "A"}
        molecules[molecule[:-2] if is_duplex else molecule].append(read)
    made = {}
    for molecule, reads in molecules.items():
        made |= {(molecule, segment): read for segment, read in molecule_of(reads, is_duplex, limits, lowest).items()}
    return made


def molecule_of(reads: list[dict[str, Any]], is_duplex: bool, limits: tuple, lowest: int) -> dict[int, Any]:
    mates = defaultdict(dict)
    for read in reads:
        mates[read["strand"], read["name"]][read["segment"]] = read
    for pair in mates.values():
        if 1 in pair and 2 in pair and pair[1]["mapped"] and pair[2]["mapped"]:
            merge_mates(pair[1], pair[2])
    partners = {
        id(r): {k: dict(v) for k, v in mates[r["strand"], r["name"]].items()}.get(3 - r["segment"]) for r in reads
    }
    for read in reads:
        trim_and_orient(read, partners[id(read)], lowest)
    if all(read["strand"] == "B" for read in reads):
        for read in reads:
            read["strand"] = "A"
    piles = defaultdict(list)
    for read in reads:
        is_last = (read["segment"] == 2) ^ (read["strand"] == "B")
        piles[0 if read["segment"] == 0 else 1 + is_last].append(read)
    found, votes = {}, {0: [], 1: []}
    for segment, pile in piles.items():
        kept = most_common([read for read in pile if read["bases"]])
        strands = [[read for read in kept if read["strand"] == strand] for strand in "AB"]
        needed = 1 if is_duplex else limits[0]
        called = [single_strand(strand, needed, 2, 45, 40) for strand in strands]
        joined = duplex(*called)
        swap = [
            read["umi"] if read["strand"] == "A" else "-".join(read["umi"].split("-")[::-1])
            for s in strands
            for read in s
        ]
        votes[min(segment, 1)] += swap
        if joined is None:
            continue
        most = [max((column["depth"] for column in strand or []), default=0) for strand in joined[1:]]
        if is_duplex and (sum(most) < limits[0] or max(most) < limits[1] or min(most) < limits[2]):
            continue
        found[segment] = {"columns": joined[0], "strands": joined[1:]}
    for segment, own in found.items():
        own["umi"] = umi_of(votes[min(segment, 1)])
    if not {1, 2} <= found.keys():
        found = {0: found[0]} if 0 in found else {}
    return found
