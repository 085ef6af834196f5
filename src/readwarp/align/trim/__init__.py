"""Trim: what no read of the sample's DNA is at the 3' end of a read: adapters, poly-G tails, bases of low quality.

    trim(reads: ReadBatch, parameters: TrimParameters) -> Trimmed

A host step before seeds are looked up, on any device. 5' ends stay as they are. `Trimmed.aligned` are the reads that
are aligned, `Trimmed.written` those that records show: whole, so that what was cut off becomes a soft clip, or with
`drop` without it. A read that is cut and becomes shorter than `min_length` is aligned as one without bases.

A cut is decided by a pair alone, in this order, so that neither batches nor threads matter.

**Mates.** Let the fragment have F bases, and be shorter than a read. Then the first F bases of the two mates are each
other's reverse complement, and what lies beyond is adapter, whatever its sequence. Mates that overlap in n bases with m
mismatches (N matches nothing) fit F if n >= 16, at most 2 of the 16 bases at one end of the overlap differ, and

    score(F) = n - 10 m >= 0                                        at most one mismatch in ten

The F with the highest score wins; ties: the longest. Nothing is cut if a fragment at least as long as the reads fits
with the same share of mismatches or fewer: this is so in tandem repeats. Two random reads fit an F below their length
with probability sum_n P(Binomial(n, 3/4) <= n / 10) = 2e-8, and 2e-6 if their bases are 80 % A and T.

**Adapters.** Where mates tell nothing, known or given sequences are looked for. An adapter fits at a place if, of the n
bases that lie in the read, at most one in ten differs, of the first 16 at most 2, and n >= 8 or the whole adapter. The
first place wins. If an adapter was found in one mate only, by 16 bases or more, the other is cut to the same length. By
chance, four adapters cut 8 bases or so off one of 4,000 random reads.

**Poly-G.** Only without an adapter: the suffix with the highest score (G 1, another base -2, as cutadapt scores poly-A)
if that is at least 10; the search ends where the score is 10 below the highest.

**Quality.** What remains is cut where the sum of (limit - quality) over the bases from there to the end is highest, as
`bwa aln -q` and `cutadapt -q` do; the search ends where that sum is negative.

**Correction**, if asked for: where overlapping mates differ and one base has Q30 or more and the other Q14 or less
(limits of fastp), the latter becomes what the former says, with its quality.
"""

from readwarp.align.trim.batch import Trimmed, trim, untrimmed
from readwarp.align.trim.counts import count, describe

__all__ = ["Trimmed", "count", "describe", "trim", "untrimmed"]
