"""A compiled kernel as bytes: a line of JSON and an ELF object; in a file, after a first line and a checksum."""

import hashlib
import json
from typing import NamedTuple

FIRST_LINE = b"readwarp kernel 3\n"


class MachineCode(NamedTuple):
    """The object code of one kernel for one signature, and what its loader needs."""

    symbol: str  # the function that Python calls
    environment: str  # symbol of the pointer to Numba's environment
    constants: tuple[str, ...]  # the environment's: dtypes of arrays that the kernel makes
    needs: tuple[str, ...]  # symbols outside the object
    object_code: bytes


def to_bytes(code: MachineCode) -> bytes:
    head = code._asdict()
    object_code = head.pop("object_code")
    return b"".join((json.dumps(head).encode(), b"\n", object_code))


def from_bytes(content: bytes) -> MachineCode:
    """Parse the content that `to_bytes` makes."""
    head, _, object_code = content.partition(b"\n")
    fields = json.loads(head)
    constants, needs = tuple(fields["constants"]), tuple(fields["needs"])
    return MachineCode(fields["symbol"], fields["environment"], constants, needs, object_code)


def sealed(content: bytes, name: str) -> bytes:
    """Prepend a checksum to the content of the file of this name, to detect damage and other files' content."""
    return FIRST_LINE + hashlib.sha256(name.encode() + content).digest() + content


def unsealed(data: bytes, name: str) -> bytes | None:
    """Return the content of a file; None if it is damaged, another file's, or of another version."""
    content = data[len(FIRST_LINE) + hashlib.sha256().digest_size :]
    return content if data == sealed(content, name) else None
