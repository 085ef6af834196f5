"""Trim: what no read of the sample's DNA is at the 3' end of a read: adapters, poly-G tails, bases of low quality.

    trim(reads: ReadBatch, parameters: TrimParameters) -> Trimmed

A host step before seeds are looked up, on any device. 5' ends stay as they are. `Trimmed.aligned` are the reads that
are aligned, `Trimmed.written` those that records show: whole, so that what was cut off becomes a soft clip, or with
`drop` without it. A read that is cut and becomes shorter than `min_length` is aligned as one without bases.

    learn(batches: [ReadBatch], parameters) -> Learned | None

The adapters of an input that are not known, from its first pairs: those of which the same 12 bases follow fragments of
at least 10 different lengths in both mates, in at least 25 pairs and half of the pairs that overlap as mates of a short
fragment do without going on like adapters.

A cut is decided by a pair alone, in this order, so that neither batches nor threads matter.

**Mates.** Let the fragment have F bases, and be shorter than a read. Then the first F bases of the two mates are each
other's reverse complement, and what lies beyond is adapter, whatever its sequence. Mates that overlap in n bases with m
mismatches (N matches nothing) fit F if n >= 16, at most 2 of the 16 bases at one end of the overlap differ, and

    score(F) = n - 10 m >= 0                                        at most one mismatch in ten

and, beyond F, the mates go on alike in their next 12 bases, or one of them goes on like a known, given or learned
adapter in its next 16, each with at most one mismatch in four: repeats at both ends of a longer fragment do not.

The F with the highest score wins; ties: the longest. Nothing is cut if a fragment at least as long as the reads fits
with a higher score, or with the same share of mismatches or fewer, as in tandem repeats. Two random reads fit an
F below their length with probability sum_n P(Binomial(n, 3/4) <= n / 10) = 2e-8, and 2e-6 if their bases are 80 % A
and T; what lies beyond is not counted in that.

**Adapters.** Where mates tell nothing, known, given or learned sequences are looked for. An adapter fits at a place if,
of the n bases that lie in the read, at most one in ten differs, of the first 16 at most 2, and n >= 8 (16 in pairs:
mates would overlap otherwise) or n is the whole adapter. The first place wins; a periodic adapter, such as poly-A, is
moved on by whole periods if fewer bases differ there. If an adapter is found in one mate only, the other is cut to the
same length. By chance, four adapters cut 8 bases or so off one of 4,000 random single reads.

**Poly-G.** Only without an adapter: the suffix with the highest score (G 1, another base -2, as cutadapt scores poly-A)
if that is at least 10; the search ends where the score is 10 below the highest.

**Quality.** What remains is cut where the sum of (limit - quality) over the bases from there to the end is highest, as
`bwa aln -q` and `cutadapt -q` do; the search ends where that sum is negative.

**Correction**, if asked for: where overlapping mates differ and one base has Q30 or more and the other Q14 or less
(limits of fastp), the latter becomes what the former says, with its quality.
"""

from readwarp.align.trim.batch import Trimmed, trim, untrimmed
from readwarp.align.trim.counts import count, describe
from readwarp.align.trim.learn import Learned, learn, with_learned

__all__ = ["Learned", "Trimmed", "count", "describe", "learn", "trim", "untrimmed", "with_learned"]
