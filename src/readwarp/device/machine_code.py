"""A compiled kernel as bytes: a first line, a line of JSON, an ELF object."""

import hashlib
import json
from typing import NamedTuple

FIRST_LINE = b"readwarp kernel 1\n"


class MachineCode(NamedTuple):
    """The object code of one kernel for one signature, and what its loader has to know."""

    symbol: str  # of the function that Python calls
    environment: str  # of the pointer to Numba's environment
    constants: tuple[str, ...]  # the environment's: dtypes of arrays that the kernel makes
    needs: tuple[str, ...]  # symbols outside the object
    object_code: bytes


def to_bytes(code: MachineCode) -> bytes:
    head = code._asdict()
    head["object_code"] = hashlib.sha256(code.object_code).hexdigest()
    return b"".join((FIRST_LINE, json.dumps(head).encode(), b"\n", code.object_code))


def from_bytes(data: bytes) -> MachineCode | None:
    """None if the bytes are damaged or of another version."""
    if not data.startswith(FIRST_LINE):
        return None
    head, _, object_code = data[len(FIRST_LINE) :].partition(b"\n")
    try:
        fields = json.loads(head)
    except ValueError:
        return None
    if fields.pop("object_code") != hashlib.sha256(object_code).hexdigest():
        return None
    constants, needs = tuple(fields["constants"]), tuple(fields["needs"])
    return MachineCode(fields["symbol"], fields["environment"], constants, needs, object_code)
