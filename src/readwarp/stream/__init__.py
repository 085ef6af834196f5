"""Batches in order through workers and devices, in memory that is planned beforehand.

    reader thread -> at most `depth` batches ahead -> worker threads -> writer (the calling thread), in input order

`plan` computes how many bases a batch may have and how many batches may be in flight; `runner` moves them; `training`
gives every batch the insert-size model of its source; `halving` splits a batch that was too large for a card; `worth`
estimates from which size on a card pays for a job. None of them knows what a step does.
"""
