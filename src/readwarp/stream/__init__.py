"""Batches in order through workers and devices, in memory that was planned beforehand.

    reader thread -> at most `depth` batches ahead -> worker threads -> writer (the calling thread), in input order

`plan` computes how many bases a batch may have and how many batches may be in flight; `cards` takes that memory and
lends it to one batch, or one window of a reference, at a time; `halving` splits what does not fit; `runner` moves the
batches; `training` gives each the insert-size model of its source; `choice` and `worth` decide whether a GPU pays;
`reporter` hears of the progress. None of them knows what a step does.
"""
