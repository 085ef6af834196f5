"""Unsorted BAM beside a card, compressed where its records are made.

Blocks of one size would depend on all records before them. So a group of blocks begins at each template whose name has
a certain hash, however the reads are cut into batches. Whole groups of a batch are compressed on its card. The records
before the first of them and after the last belong to groups that its neighbours share, and go by the host.
"""

from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device.rows import ragged_rows, to_host, workspace_of
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import FLAG, NAME, NAME_LENGTH, uint16_at
from readwarp.formats.common.bgzf import BLOCK
from readwarp.rules.flags import FIRST, NOT_PRIMARY, PAIRED
from readwarp.rules.hashes import hash_of, mix

TEMPLATES = np.uint64(1 << 12)  # of a group, on average: 3 MB of pairs of 150 bases
Groups = tuple[Any, ...]  # bytes (uint8) that continue the last group; then groups, as bytes or as CompressedBlocks


class GroupStarts(NamedTuple):
    place: Annotated[ndarray, "int64 [starts]"]  # byte
    offsets: Annotated[ndarray, "int64 [records + 1] of starts"]


@scalar
def starts_group(row, records):
    """Return 1 if a group begins with a record: the first of a template whose name has the hash. Else 0."""
    data, at = records.data, records.offsets[row]
    flag, name = uint16_at(data, at + FLAG), at + NAME
    is_first = flag & NOT_PRIMARY == 0 and (flag & PAIRED == 0 or flag & FIRST != 0)
    has_hash = mix(hash_of(data, name, name + data[at + NAME_LENGTH])) % TEMPLATES == 0
    return np.int64(is_first and has_hash)


@ragged_rows(GroupStarts, starts_group, is_exact=True)
def list_starts(row, at, records, out):
    """List where a record begins if a group does."""
    if starts_group(row, records):
        out.place[at] = records.offsets[row]
        at += 1
    return at


def cut_groups(records: Encoded) -> Groups:
    """Cut the records of a batch of whole templates, on either side, into groups, on the host. Raises KernelError."""
    starts, workspace = to_host(list_starts(len(records), records).place), workspace_of(records.data)
    if workspace is None or starts.size == 0:
        return tuple(np.split(to_host(records.data), starts))
    from readwarp.finish.cuda_blocks import compress, work_bytes

    blocks = np.concatenate([*(np.arange(*group, BLOCK) for group in pairwise(starts)), starts[-1:]])
    most = blocks.size if workspace.left is None else max(1, workspace.left // work_bytes(1))
    made = [compress(records.data, blocks[i : i + most + 1], workspace) for i in range(0, blocks.size - 1, most)]
    before, behind = to_host((records.data[: int(starts[0])], records.data[int(starts[-1]) :]))
    return before, *made, behind
