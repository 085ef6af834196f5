"""Names of templates with which groups of blocks begin (readwarp.finish.groups)."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from readwarp.finish.groups import TEMPLATES
from readwarp.rules.hashes import hash_of, mix


def begins(name: str) -> bool:
    letters = np.frombuffer(name.encode() + b"\0", np.uint8)
    return int(mix(hash_of(letters, 0, letters.size))) % int(TEMPLATES) == 0


def beginning() -> Iterator[str]:
    """Names that do: one number in TEMPLATES."""
    return filter(begins, map(str, count()))
