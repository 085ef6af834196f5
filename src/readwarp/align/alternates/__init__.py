"""ALT contigs: their hits help the primary assembly and do not compete with it (host only).

    read_alternates(path of the .alt file, Reference) -> Alternates
    cut_alternates(Genome, Alternates) -> Genome
    plan_lifted(reads: ReadBatch, (Candidates, Scores), Alternates, parameters) -> Candidates
    choose(reads, places: Places, sizes, parameters, repetitive, Alternates) -> Choices

**Seeds.** Few seeds settle a read (`align.seed`) only at a place before the first ALT contig (`cut_alternates`): a read
settled on an ALT contig might lack its place on the primary assembly.

**Lift-over.** A place on an ALT contig moves to the primary assembly by the run of aligned bases with which it overlaps
most. Places that overlap there on one strand form one locus; a place without such a run has no locus. A locus where the
read has no candidate gets a window of its own (`plan_lifted`), so that the read is aligned to the primary assembly even
if all its seeds are on the ALT contig.

**Choice.** A place on the primary assembly with score s counts s + max(0, h - 1 - m), where h is the best score of a
hit on an ALT contig in its locus and m the best of a place on the primary assembly there. These scores compete as in
`records.choose`; hits on ALT contigs do not. The 1 breaks ties between loci with equal hits in favour of the one where
the read fits the primary assembly itself. A read goes to an ALT contig only if it has no place on the primary assembly
(none whose score without end bonuses reaches the minimum).

**Hits on ALT contigs** follow the read's place p on the primary assembly. The best one that scores more than p becomes
a supplementary row (role ALTERNATE) if it is in the locus of p or has no place on the primary assembly. Others with at
least `secondary_ratio` of the better of the two scores are secondary. Ties go by the key of `records.choose`.

**MAPQ** of a hit on an ALT contig follows from its score less that of the best place outside its locus. Within the
locus of p, or for a read placed on an ALT contig, it is at least the read's own.

The output follows bwa mem and bwa-postalt.js (Li, README-alt.md of bwa); that the locus with the best hit wins follows
DRAGEN's ALT-aware mapping.
"""

from readwarp.align.alternates.choose import choose
from readwarp.align.alternates.lift import plan_lifted
from readwarp.align.alternates.table import Alternates, cut_alternates, find_alternates, read_alternates

__all__ = ["Alternates", "choose", "cut_alternates", "find_alternates", "plan_lifted", "read_alternates"]
