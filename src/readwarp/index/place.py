"""Location of a reference's index: beside it, or in a user folder if that cannot be written.

The name of an index in that folder comes from the reference's name, its content and the seeds. So copies of a reference
share an index, and another reference of the same name has its own.
"""

import hashlib
import os
from pathlib import Path

from readwarp.compiler.trust import name_of
from readwarp.config import SeedParameters

SUFFIX = ".rwx"
SAMPLES, SAMPLE = 64, 1 << 16  # pieces of the reference, and their bytes, that identify it


def index_path(reference: str | Path) -> Path:
    """Return the usual location, beside the reference."""
    return Path(f"{reference}{SUFFIX}")


def cache_folder() -> Path:
    """Return $READWARP_INDEX_DIR, else readwarp/indexes in $XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get("READWARP_INDEX_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(home, "readwarp", "indexes")


def place_of(reference: str | Path, seeds: SeedParameters | None) -> Path:
    """Return where a reference's index is or will be. Without seeds, a new index has those of the standard preset.

    That is beside the reference, or in the cache folder if there is no index beside it and either its folder cannot be
    written or READWARP_INDEX_DIR is set.
    """
    beside = index_path(reference)
    if beside.exists() or (not os.environ.get("READWARP_INDEX_DIR") and os.access(beside.parent, os.W_OK)):
        return beside
    return cache_folder() / f"{Path(reference).name}-{identity_of(reference, seeds or SeedParameters())}{SUFFIX}"


def explain_place(path: Path, reference: str | Path) -> str:
    """Explain why an index is not beside the reference, and whose folder it is in if another user's; else return ""."""
    beside, reasons = index_path(reference), []
    if path.parent == cache_folder() and path != beside:
        is_named = os.environ.get("READWARP_INDEX_DIR")
        reasons.append("in READWARP_INDEX_DIR" if is_named else f"since {beside.parent} cannot be written")
    folder = next(each for each in (path.parent, *path.parent.absolute().parents) if each.exists())
    if (owner := folder.stat().st_uid) != os.geteuid():
        reasons.append(f"in a folder of {name_of(owner)}")
    return f" {' and '.join(reasons)} (elsewhere: --index FILE or READWARP_INDEX_DIR)" if reasons else ""


def identity_of(reference: str | Path, seeds: SeedParameters) -> str:
    """Hash the reference's size, evenly spread pieces of it, and the seeds."""
    size = Path(reference).stat().st_size
    digest = hashlib.sha256(f"{size} {seeds.k} {seeds.s} {seeds.t}".encode())
    with Path(reference).open("rb") as file:
        for piece in range(SAMPLES):
            file.seek(max(0, size - SAMPLE) * piece // (SAMPLES - 1))
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()[:16]


def kept_indexes() -> list[Path]:
    """List the indexes in the cache folder."""
    return sorted(cache_folder().glob(f"*{SUFFIX}"))
