"""Count a report's figures of alignments in one pass over a sorted and indexed BAM or CRAM file, in all threads.

    one_pass.count_alignments(path, reference, targets, threads) -> FileCounts
    long_reads.count_long_reads(path, reference, threads) -> LongTables

`windows.py` cuts the contigs into stretches of the file. A thread takes one, with the records that begin in it and
those that reach into it, and

    records.count_records          adds each record that begins in it to tables of the thread's own: flags, lengths,
                                   bases and qualities by cycle, mismatches, gaps, insert sizes, checksums
    depth.find_spans               finds the bases of the reference that its records cover
    depth.depth_of                 measures the depth of its bases, by reads that count, overlapping mates once
    coverage.Coverage.measure      derives from it the bases at each depth, and means along the genome and of targets

The calling thread takes the results in file order, and adds the figures that depend on it: the bins of `gc_bins.py`.
Tables are integers and are summed at the end, so nothing depends on the number of threads. Records without a contig
follow; one thread decompresses them, as no index shows where to divide them.

Counts follow `samtools stats` 1.24: see `report/stats_text.py`, which writes them. Where samtools loses depth (after
reads of 300 bases and more, and beyond skips of a thousand bases), we do not.
"""
