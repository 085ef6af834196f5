"""Batches in order through workers and devices, in memory that was planned beforehand.

    reader thread -> at most `depth` batches ahead -> worker threads -> writer (the calling thread), in input order

`plan` says how many bases a batch may have and how many batches may be in flight; `cards` takes that memory and lends
it to one batch, or one window of a reference, at a time; `halving` splits what does not fit; `runner` moves them;
`training` gives every batch the insert-size model of its source; `choice` and `worth` say whether a GPU pays;
`reporter` is who is told how far it all has come. None of them knows what a step does.
"""
