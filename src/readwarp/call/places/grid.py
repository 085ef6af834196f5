"""Grids of positions that begin at the first base of each contig, so that nothing depends on windows."""

from math import lcm

BLOCK = 32  # bases in which the depth limit counts
STEP = 16  # depth is recorded at multiples of this position
MAX_REGION = 300  # bases; longer regions are cut at multiples of it
GRID = lcm(BLOCK, STEP, MAX_REGION)
