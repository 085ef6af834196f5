"""Records: pair scores, MAPQ, primary, supplementary and secondary alignments, flags and tags (host only).

    choose(reads, candidates: Candidates, scores: Scores, sizes: InsertSizes, parameters: AlignParameters) -> int64 candidates to trace
    build(reads, candidates, scores, extensions: Extensions, reference: Reference, sizes, parameters) -> Alignments
"""
