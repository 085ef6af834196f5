"""Cut the genome into pieces with about the same number of covered bases, in the order of its contigs.

Covered bases of a contig: its reads, counted by the BAM indexes, and spread evenly over it (or over its targets). Piece
i + 1 begins where piece i ends, so that concatenated results are in order.
"""

from collections import defaultdict
from contextlib import redirect_stderr
from pathlib import Path

import pysam


def main(fai, bams, targets, outputs):
    lengths = [(line.split("\t")[0], int(line.split("\t")[1])) for line in Path(fai).read_text().splitlines()]
    wanted = intervals_of(targets, lengths) if targets else [(name, 0, length) for name, length in lengths]
    density = densities(bams, lengths)
    weights = [(stop - start) * density[name] for name, start, stop in wanted]
    share, pieces = sum(weights) / len(outputs), [[] for _ in outputs]
    done, piece = 0.0, 0
    for (name, start, stop), weight in zip(wanted, weights, strict=True):
        while stop - start > 0:
            room = share * (piece + 1) - done
            if weight <= room or piece == len(outputs) - 1:
                pieces[piece].append((name, start, stop))
                done += weight
                break
            cut = start + int((stop - start) * room / weight)
            if cut > start:
                pieces[piece].append((name, start, cut))
            done, weight, start, piece = done + room, weight - room, cut, piece + 1
    for path, piece in zip(outputs, pieces, strict=True):
        Path(path).write_text("".join(f"{name}\t{start}\t{stop}\n" for name, start, stop in piece))


def densities(bams, lengths):
    """Reads per base of each contig, plus a little, so that contigs without reads are included too."""
    reads = defaultdict(int)
    for path in bams:
        with pysam.AlignmentFile(path) as file:
            for contig in file.get_index_statistics():
                reads[contig.contig] += contig.mapped
    everywhere = 0.01 * (sum(reads.values()) + 1) / max(1, sum(length for _, length in lengths))
    return {name: reads[name] / max(1, length) + everywhere for name, length in lengths}


def intervals_of(path, lengths):
    """Targets, merged and in the order of the contigs."""
    found = defaultdict(list)
    for line in Path(path).read_text().splitlines():
        if line.strip() and not line.startswith(("#", "track", "browser")):
            name, start, stop = line.split("\t")[:3]
            found[name].append((int(start), int(stop)))
    merged = []
    for name, length in lengths:
        for start, stop in sorted(found.pop(name, [])):
            if merged and merged[-1][0] == name and start <= merged[-1][2]:
                merged[-1] = (name, merged[-1][1], max(merged[-1][2], min(stop, length)))
            else:
                merged.append((name, start, min(stop, length)))
    if found:
        raise SystemExit(f"{path}: contig {next(iter(found))} is not in the reference")
    return merged


if "snakemake" in globals():
    with open(snakemake.log[0], "w") as log, redirect_stderr(log):  # noqa: F821
        main(snakemake.input.fai, snakemake.input.bams, snakemake.config["call"]["targets"], snakemake.output)  # noqa: F821
