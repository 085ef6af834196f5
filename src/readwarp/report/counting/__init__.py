"""Counts all that a report says of alignments in one pass over a sorted and indexed BAM or CRAM file, in all threads.

    count_alignments(path, reference, targets, threads) -> Counts       count_long_reads(path, ...) -> LongTables

`windows.py` cuts the contigs into stretches of the file. A thread takes one, with the records that begin in it and
those that reach into it, and

    record_kernels.count_records   adds each record that begins in it to tables of the thread's own: flags, lengths,
                                   bases and qualities by cycle, mismatches, gaps, insert sizes, checksums
    span_kernels.find_spans        finds the bases of the reference that its records cover
    depth.depth_of                 the depth of its bases, of reads that count, overlapping mates once
    coverage.Coverage.measure      from it, how many bases have each depth, and means along the genome and of targets

The calling thread takes the results in the order of the file, and adds what depends on the order: the bins of
`gc_bins.py`. Tables are integers and are summed at the end, so nothing depends on the number of threads. Records
without a contig follow; one thread decompresses them, as no index tells where they could be divided.

What is counted, and how, is what `samtools stats` 1.24 does: see `report/stats_text.py`, which writes it down. Where
that program forgets depth (after reads of 300 bases and more, and beyond skips of a thousand bases), we do not.
"""
