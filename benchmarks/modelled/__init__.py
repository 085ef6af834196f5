"""A model of the time that kernels take on named cards, from what an emulated card counts (docs/notes/model.md).

`workloads` runs commands on the emulated card, `machine` makes machine code whose instructions know their line of PTX,
`flow` says how often each of its blocks ran, `waits` how long a warp needs for one alone, `kernels` puts these together
per block of PTX, and `bounds` gives microseconds. Every figure is a model's: nothing here was measured on a card.
"""
