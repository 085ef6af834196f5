"""Molecules: templates that are copies of one original, told by ends and unique molecular identifiers (UMIs).

Templates with the same ends (library, contigs, places and orientation, see `duplicates`, and which mate is where) form
a group; so do reads without a mapped mate with the same library, contig, 5' place and strand. The UMIs of a group are
clustered by UMI-tools' directional method (Smith, Heger, Sudbery 2017, doi:10.1101/gr.209601.116): a UMI of n templates
joins one that differs in a letter if that has at least 2n - 1 templates; clusters grow breadth first from the most
frequent UMI, ties in alphabetical order. Each cluster is a molecule.

The unmarked template of each molecule is the one that would win among duplicates without UMIs. A read without a mapped
mate is also a duplicate of any end of a pair with the same place and exactly its UMI. With `duplex`, the strands of a
molecule, whose UMIs have swapped parts, form one group; duplicates are marked within a strand.

A UMI with an N has no molecule: neither is its template marked, nor anything as its duplicate. Records that are not
compared have none either: secondary and supplementary ones, unmapped pairs, and reads of more than MAX_READ_LENGTH.

MI names a molecule by its identity: library, places, orientation, which mate is at the leftmost end, and the UMI from
which the cluster grew. So it is unique in the file, the same on both mates, and independent of other molecules:

    0:4:10468:4:10702:FR1:ACGTTGCA      library 0, contig 4 at 10,468 to contig 4 at 10,702, first mate leftmost
    0:4:10468:4:10702:FR:ACG-TGA/B      a duplex: strand A has the first mate leftmost, B the last
    0:4:10468:F1:ACGTTGCA               a read without a mapped mate
"""

from collections import Counter
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.alignments import molecule_kernels as kernels
from readwarp.formats.alignments import umi_cluster_kernels as clusters
from readwarp.formats.alignments.duplicate_kernels import SKIP
from readwarp.formats.alignments.molecule_name_kernels import LONGEST, write_molecules
from readwarp.formats.alignments.sam import Encoded
from readwarp.ragged import empty, offsets_of, ranges, replace, take


class RecordUmis(NamedTuple):
    """The UMI of each record; no letters if it has no usable one."""

    letters: Annotated[ndarray, "uint8 [letters]"]  # on strand 0, with - between parts
    offsets: Annotated[ndarray, "int64 [records + 1] of letters"]
    strands: Annotated[ndarray, "uint8 [records]"]  # 0: the first mate is leftmost, or reads forward


class Nodes(NamedTuple):
    """The UMIs of the groups."""

    record: Annotated[ndarray, "int64 [nodes]"]  # the first with this UMI
    group: Annotated[ndarray, "int64 [nodes]"]
    number: Annotated[ndarray, "int64 [nodes]"]  # number of templates
    code: Annotated[ndarray, "uint64 [nodes]"]


class Molecules(NamedTuple):
    """The molecules of sorted records with signatures."""

    umis: RecordUmis
    nodes: Nodes
    node: Annotated[ndarray, "int64 [records]"]  # -1 without a molecule
    seed: Annotated[ndarray, "int64 [nodes]"]  # the node from which the molecule grew, which identifies it
    best: Annotated[ndarray, "int64 [nodes, 2]"]  # for each seed and strand, the record that stays unmarked; -1: none
    sizes: Annotated[ndarray, "int64 [nodes]"]  # for each seed, the templates of the molecule


def find_molecules(records: Encoded, is_duplex: bool) -> tuple[Molecules, ndarray]:
    """Find the molecules, and which records are duplicates (uint8 [records])."""
    umis, marks = read_umis(records, is_duplex), np.zeros(len(records), np.uint8)
    group, first = np.empty((2, len(records)), np.int64)
    kernels.group_by_ends(records, umis, is_duplex, table_for(records), first, group)
    node, table = np.empty(len(records), np.int64), table_for(records)
    nodes = empty(Nodes, {"nodes": len(records)})
    known = clusters.number_umis(records, umis, group, table, node, nodes)
    nodes = take(nodes, "nodes", slice(0, known))
    seed = cluster(umis, nodes, table)
    best, sizes = np.full((known, 2), -1, np.int64), np.zeros(known, np.int64)
    kernels.mark_molecules(records, umis, node, seed, best, sizes, marks)
    kernels.mark_singles(records, umis, table_for(records), marks)
    return Molecules(umis, nodes, node, seed, best, sizes), marks


def find_bad_umi(records: Encoded, is_duplex: bool) -> int:
    """Find the first record (without signature) without a UMI in RX, of two equal parts for a duplex; -1 if none."""
    return int(kernels.find_bad_umi(records, is_duplex))


def table_for(records: Encoded) -> ndarray:
    """Make an empty hash table, see `duplicate_kernels.mark_pairs`."""
    return np.full(1 << (2 * len(records)).bit_length(), -1, np.int32)


def read_umis(records: Encoded, is_duplex: bool) -> RecordUmis:
    (starts, sizes), strands = np.zeros((2, len(records)), np.int64), np.zeros(len(records), np.uint8)
    kernels.find_umis(records, starts, sizes, strands)
    umis = empty(RecordUmis, {}, offsets=offsets_of(sizes), strands=strands)
    kernels.copy_umis(records, starts, strands, is_duplex, umis.letters, umis.offsets)
    return umis


def cluster(umis: RecordUmis, nodes: Nodes, table: ndarray) -> ndarray:
    """Return the seed of each node (int64 [nodes])."""
    seed = np.arange(nodes.group.size)
    rows = np.flatnonzero(np.bincount(nodes.group)[nodes.group] > 1) if nodes.group.size else seed
    seed[rows] = -1
    order = rows[np.lexsort((as_texts(umis, nodes.record[rows]), -nodes.number[rows], nodes.group[rows]))]
    clusters.join_neighbours(umis, nodes, order, table, seed)
    return seed


def as_texts(umis: RecordUmis, records: ndarray) -> ndarray:
    """Return the UMIs of these records as NumPy strings."""
    lengths = np.diff(umis.offsets)[records]
    longest = max(1, int(lengths.max(initial=0)))
    letters = np.zeros((records.size, longest), np.uint8)
    letters[np.arange(longest) < lengths[:, None]] = umis.letters[ranges(umis.offsets, records)]
    return letters.view(f"S{longest}").ravel()


def with_molecules(records: Encoded, rows: slice, molecules: Molecules, is_duplex: bool) -> Encoded:
    """Return these rows of the records without signatures, with the tag MI of their molecules."""
    umis, number = molecules.umis, rows.stop - rows.start
    size = int(records.offsets[rows.stop] - records.offsets[rows.start]) - SKIP * number
    longest = LONGEST + int(np.diff(umis.offsets).max(initial=0))
    out = empty(Encoded, {"records": number, "bytes": size + longest * number})
    named = umis, molecules.node, molecules.seed, molecules.nodes.record
    written = write_molecules(records, rows.start, *named, is_duplex, out)
    return replace(out, data=out.data[:written])


def count_families(records: Encoded, rows: slice, molecules: Molecules) -> Counter[int]:
    """Count molecules by number of templates, each at one of its records."""
    counts = np.zeros(int(molecules.sizes.max(initial=0)) + 1, np.int64)
    kernels.count_families(records, molecules.best, molecules.sizes, rows.start, rows.stop, counts)
    return Counter({size: int(counts[size]) for size in np.flatnonzero(counts).tolist()})
