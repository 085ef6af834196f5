"""Trust in folders and files to execute from: only the user, root and the package's owner may be able to change them.

A folder is looked up from / on, name by name, by lstat. Each name must belong to one of the three, and nobody else may
write to the folder that it is in, unless that has the sticky bit: then only its owner can replace it. So a checked path
cannot be replaced afterwards, and the returned path has no links.
"""

import grp
import os
import pwd
import stat
from errno import ENOTSUP, EPERM
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
OTHERS = stat.S_IWGRP | stat.S_IWOTH
ACL = "system.posix_acl_access"


class DistrustError(OSError):
    """An error for a path that somebody else could have written."""

    def __init__(self, place: Path, reason: str):
        super().__init__(EPERM, reason, str(place))
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        return f"{self.place} {self.reason}"


@cache
def real_folder(folder: Path) -> Path:
    """Resolve a folder to a path without links. Raises DistrustError, and uncached other OSErrors: it may be absent."""
    place = _real_path(folder.absolute())
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{place} is not a folder")
    _check(place, found)
    return place


@cache
def _real_path(path: Path) -> Path:
    """Resolve a path to one without links, in folders whose entries are safe; sticky ones may be open to others."""
    if path == PACKAGE:  # whoever can change it can change readwarp itself
        return path
    place = path
    if path != path.parent:
        parent = _real_path(path.parent)
        place = parent.parent if path.name == ".." else parent / path.name
    found = place.lstat()
    is_link = stat.S_ISLNK(found.st_mode)
    _check(place, found, OTHERS if is_link or found.st_mode & stat.S_ISVTX else 0)
    return _real_path(place.parent / place.readlink()) if is_link else place


def make_folder(folder: Path) -> Path:
    """Make the folder and those above it if absent, writable by nobody else, and return its `real_folder`."""
    absent = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(absent):
        each.mkdir(0o755, exist_ok=True)
    return real_folder(folder)


def read_trusted(path: Path) -> bytes:
    """Read a file. Raises DistrustError, and other OSErrors: it may be absent."""
    place = real_folder(path.parent) / path.name
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # no link, no pipe
    with open(descriptor, "rb") as file:
        _check(place, os.fstat(descriptor))
        return file.read()


def _check(place: Path, found: os.stat_result, granted: int = 0) -> None:
    """Raise DistrustError unless it can be trusted. granted: bits of OTHERS that do not matter."""
    package = _package()
    if found.st_uid not in (0, os.getuid(), package.st_uid):
        raise DistrustError(place, f"belongs to {name_of(found.st_uid)}")
    writers = found.st_mode & OTHERS & ~granted
    if writers and place.is_relative_to(PACKAGE):
        writers &= ~package.st_mode
    if writers == stat.S_IWGRP and _is_private(found.st_gid, found.st_uid) and not _has_acl(place):
        return
    if writers:
        raise DistrustError(place, f"is writable by others (mode {stat.S_IMODE(found.st_mode):o}); fix: chmod go-w")


def _has_acl(place: Path) -> bool:
    try:
        return ACL in os.listxattr(place)
    except OSError as error:
        if error.errno != ENOTSUP:  # file systems without such attributes
            raise
        return False


@cache
def _package() -> os.stat_result:
    return PACKAGE.stat()


@cache
def _is_private(group: int, user: int) -> bool:
    """Return whether it is the user's own group, without other members, as in many distributions."""
    try:
        members, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return (owner.pw_gid, owner.pw_name) == (group, members.gr_name) and set(members.gr_mem) <= {owner.pw_name}


def name_of(user: int) -> str:
    """Return the name of a user, or the number where it has none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
