"""Trim: remove from 3' ends what is not the sample's DNA: adapters, poly-G tails, bases of low quality.

    trim(reads: ReadBatch, parameters: TrimParameters) -> Trimmed

Trimming is a host step before seeding, on any device. 5' ends stay as they are. `Trimmed.aligned` are the reads to
align, `Trimmed.written` those shown in records: whole, so that the cut bases become a soft clip, or without them if
`drop` is set. A read cut to less than `min_length` is aligned as one without bases.

    learn(batches: [ReadBatch], parameters) -> Learned | None

Learning finds the unknown adapters of an input from its first pairs: the same 12 bases must follow fragments of at
least 10 different lengths in both mates, in at least 25 pairs and in half of the pairs that overlap like mates of a
short fragment but do not continue with a known adapter.

A cut depends on a pair alone, and follows this order, so that neither batches nor threads matter.

**Mates.** Let the fragment have F bases, fewer than a read. Then the first F bases of the two mates are each other's
reverse complement, and the rest is adapter, whatever its sequence. Mates that overlap in n bases with m mismatches (N
matches nothing) fit F if n >= 16, at most 2 of the 16 bases at one end of the overlap differ, and

    score(F) = n - 10 m >= 0                                        at most one mismatch in ten

and, beyond F, the mates either agree in their next 12 bases, or one of them continues with a known, given or learned
adapter in its next 16, each with at most one mismatch in four: repeats at both ends of a longer fragment do not.

The F with the highest score wins; ties: the longest. Nothing is cut if a fragment at least as long as the reads fits
with a higher score, or with the same fraction of mismatches or fewer, as in tandem repeats. Two random reads fit an F
below their length with probability sum_n P(Binomial(n, 3/4) <= n / 10) = 2e-8, or 2e-6 if 80 % of their bases are A and
T, not counting the condition beyond F.

**Adapters.** Where mates tell nothing, known, given or learned sequences are searched for. An adapter fits at a place
if at most one in ten of the n bases within the read differs, at most 2 of the first 16, and n >= 8 (16 in pairs: mates
would overlap otherwise) or n is the whole adapter. The first place wins; a periodic adapter, such as poly-A, is moved
on by whole periods if fewer bases differ there. If only one mate has an adapter, the other is cut to the same length.
By chance, four adapters cut about 8 bases off one of 4,000 random single reads.

**Poly-G.** Only without an adapter: the suffix with the highest score (G 1, another base -2, as cutadapt scores poly-A)
is cut if that is at least 10; the search ends where the score is 10 below the highest.

**Quality.** The rest is cut where the sum of (limit - quality) from there to the end is highest, as in `bwa aln -q` and
`cutadapt -q`; the search ends where that sum is negative.

**Correction**, on request: where overlapping mates differ and one base has Q30 or more and the other Q14 or less
(limits of fastp), the latter takes the base and quality of the former.
"""

from readwarp.align.trim.batch import Trimmed, count, describe, trim, untrimmed
from readwarp.align.trim.learn import LearnedAdapters, learn, with_learned

__all__ = ["LearnedAdapters", "Trimmed", "count", "describe", "learn", "trim", "untrimmed", "with_learned"]
