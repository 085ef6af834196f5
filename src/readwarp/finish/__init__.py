"""Aligned records between the aligner and the file: kept for `--resume`, sorted, marked as duplicates.

A worker prepares a batch of encoded records (`writer.Preparer`): it sorts them (`order`), and while mates are still
neighbours, it writes before each record the signature by which duplicates are told (`signatures`). The writer
(`writer.AlignmentWriter`) takes batches in the order of the reads, sorts them in bounded memory (`sort`, `runs`), marks
windows of sorted records (`duplicates`), with UMIs molecule by molecule (`molecules`), and hands them to a file of
`readwarp.formats.alignments`. With `--resume`, batches wait in a folder of `segments` until the input ends.
"""
