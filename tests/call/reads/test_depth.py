"""The limit of depth, against an oracle that looks at one block at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, reads_of
from readwarp.call.places.targets import BLOCK
from readwarp.call.reads.depth import DepthLimit
from readwarp.ragged import concatenate, replace, take
from readwarp.rules.hashes import spread

LENGTH = 3 * BLOCK


def numbered(reads, samples=None):
    """The reads, sorted by position, as a window's; each has a name of its own unless its name says otherwise."""
    batch = aligned_reads(reads)
    sample = np.zeros(len(batch), np.uint16) if samples is None else np.array(samples, np.uint16)
    return replace(batch, sample=sample, start=0, stop=LENGTH)


def oracle(batch, max_depth: int) -> list[tuple[bool, list[int]]]:
    """Whether each read stays, and its qualities."""
    rank = spread(batch.name_hash).tolist()
    places = []
    for read in range(len(batch)):
        aligned, p, q = {}, int(batch.position[read]), 0
        blocks, before = set(), None
        for run in batch.cigar[batch.cigar_offsets[read] : batch.cigar_offsets[read + 1]].tolist():
            size, operation = run >> 4, "MIDNSHP=X"[run & 15]
            for _ in range(size):
                if operation in "MD=X":
                    before = p // BLOCK
                    blocks.add(before)
                if operation in "M=XIS":
                    aligned[q] = before if before is not None else int(batch.position[read]) // BLOCK
                    q += 1
                p += operation in "MDN=X"
            if operation == "N" and size:
                before = (p - 1) // BLOCK
        places.append((blocks, aligned))
    limits = {}
    for sample in set(batch.sample.tolist()):
        for block in range(LENGTH // BLOCK):
            own = [r for r in range(len(batch)) if batch.sample[r] == sample and block in places[r][0]]
            if len(own) > max_depth:
                ranks = sorted(rank[r] for r in own)
                limits[sample, block] = max(ranks[max_depth], ranks[0] + 1)
    out = []
    for read, (blocks, aligned) in enumerate(places):
        sample = int(batch.sample[read])
        counts = {block: rank[read] < limits.get((sample, block), 1 << 64) for block in {*blocks, *aligned.values()}}
        qualities = batch.qualities[batch.read_offsets[read] : batch.read_offsets[read + 1]].tolist()
        hidden = [0 if k in aligned and not counts[aligned[k]] else x for k, x in enumerate(qualities)]
        out.append((not limits or any(counts[block] for block in blocks), hidden))
    return out


@settings(max_examples=100)
@given(st.data())
def test_equals_plain_python(data):
    reads = [replace(r, name=f"r{i // 2}") for i, r in enumerate(data.draw(reads_of(LENGTH, most=12)))]
    batch = numbered(reads, data.draw(st.lists(st.integers(0, 1), min_size=len(reads), max_size=len(reads))))
    max_depth = data.draw(st.integers(1, 4))
    limit = DepthLimit(max_depth)
    found, expected = limit.limit(batch), oracle(batch, max_depth)
    stays = np.array([stays for stays, _ in expected], bool)
    assert found.position.tolist() == batch.position[stays].tolist()
    assert sorted(limit.lost.tolist()) == sorted(batch.position[~stays].tolist())
    assert found.qualities.tolist() == [q for stays, qualities in expected if stays for q in qualities]


@settings(max_examples=50)
@given(st.integers(0, 200), st.integers(1, 20))
def test_parts_do_not_matter(cut, max_depth):
    """What is left of the first reads and the others together is what is left of all."""
    reads = [Read(i % 40, "50M", "ACGTA" * 10, (30,) * 50, name=f"r{i}") for i in range(200)]
    batch = numbered(reads)
    first = DepthLimit(max_depth)
    part = first.limit(take(batch, "reads", slice(0, cut)))
    joined = first.limit(concatenate([part, take(batch, "reads", slice(cut, None))], "reads"))
    whole = DepthLimit(max_depth)
    expected = whole.limit(batch)
    for name in ("position", "name_hash", "qualities", "read_offsets"):
        assert np.array_equal(getattr(joined, name), getattr(expected, name)), name
    assert first.blocks.tolist() == whole.blocks.tolist() and first.lost.size == whole.lost.size


def test_limit_holds_for_each_sample():
    reads = [Read(0, "20M", "A" * 20, (30,) * 20, name=f"r{i}") for i in range(30)]
    found = DepthLimit(5).limit(numbered(reads, [i % 3 for i in range(30)]))
    assert np.bincount(found.sample).tolist() == [5, 5, 5]
    assert len(DepthLimit(10).limit(numbered(reads, [i % 3 for i in range(30)]))) == 30


def test_mates_stay_together_and_no_name_is_preferred():
    """Names that differ in the last letter alone are as likely to stay as any others."""
    names = [f"run.{i}" for i in range(4000)]
    reads = [Read(0, "20M", "A" * 20, (30,) * 20, name=name) for name in names for _ in range(2)]
    found = DepthLimit(1000).limit(numbered(reads))
    assert 998 <= len(found) <= 1000
    kept = set(found.name_hash.tolist())
    assert len(kept) == len(found) // 2
    own = aligned_reads(reads).name_hash
    even = {int(x) for x in own[::4]}
    assert 200 < len(kept & even) < 300


def test_a_name_with_too_many_reads_stays():
    reads = [Read(0, "20M", "A" * 20, (30,) * 20, name="same")] * 9
    assert len(DepthLimit(4).limit(numbered(reads))) == 9
