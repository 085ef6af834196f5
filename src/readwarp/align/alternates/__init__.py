"""ALT contigs: hits on them help the primary assembly, and do not compete with it (host only).

    read_alternates(path of the .alt file, Reference) -> Alternates
    cut_alternates(Genome, Alternates) -> Genome
    plan_lifted(reads: ReadBatch, (Candidates, Scores), Alternates, parameters) -> Candidates
    choose(reads, places: Places, sizes, parameters, repetitive, Alternates) -> Choices

**Seeds.** A read is settled by few seeds (`align.seed`) only at a place before the first ALT contig (`cut_alternates`):
one that is settled on an ALT contig might lack its place on the primary assembly.

**Lift-over.** A place on an ALT contig moves to the primary assembly by the run of aligned bases that it has most in
common with. Places that overlap there on one strand are one locus. A place that has none has no locus. Where no
candidate of the read lies, it gets a window of its own there (`plan_lifted`), so that the read is aligned to the
primary assembly even if its seeds are only on the ALT contig.

**Choice.** A place on the primary assembly that has the score s is worth s + max(0, h - 1 - m), where h is the best
score of a hit on an ALT contig in its locus, and m that of a place on the primary assembly there. With these scores
the places on the primary assembly compete, as `records.choose` has it; hits on ALT contigs do not. Of two loci with
equal hits, the 1 prefers that where the read fits the primary assembly itself. Only a read without a place on the
primary assembly (its score without end bonuses below the minimum) is placed on an ALT contig.

**Hits on ALT contigs** follow the place p of a read on the primary assembly. The best one that scores more than p
becomes a supplementary row (role ALTERNATE), if it is in the locus of p or has no place on the primary assembly.
The others with at least `secondary_ratio` of the better of the two scores are secondary. Equal scores are ordered by
the key of `records.choose`.

**MAPQ** of a hit on an ALT contig follows from its score less that of the best place outside its locus. Within the
locus of p, and of a read that is placed on an ALT contig, it is at least that of the read.

This follows bwa mem and bwa-postalt.js in what is written (Li, README-alt.md of bwa), and DRAGEN's ALT-aware mapping in
that the locus with the best hit wins.
"""

from readwarp.align.alternates.choose import choose
from readwarp.align.alternates.lift import plan_lifted
from readwarp.align.alternates.table import Alternates, cut_alternates, find_alternates, read_alternates

__all__ = ["Alternates", "choose", "cut_alternates", "find_alternates", "plan_lifted", "read_alternates"]
