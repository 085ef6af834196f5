"""Ordered batches through workers and devices, in memory planned in advance.

    reader thread -> a few batches ahead -> worker threads -> writer (the calling thread), in input order

`plan` computes how many bases a batch may have and how many batches may be in flight; `cards` allocates that memory and
lends it to one batch, or one window of a reference, at a time; `halving` cuts what does not fit; `runner` moves the
batches; `training` estimates the insert-size model of each source; `parts` selects the reads of a part; `choice`
decides whether to use a GPU; `reporter` shows progress. None of them knows what a step does.
"""
