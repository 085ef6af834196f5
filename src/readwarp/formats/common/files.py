"""Files of a job: checks that they can be read and written, and a lock that keeps other processes out."""

import errno
import fcntl
import logging
import os
import resource
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import combinations
from pathlib import Path

from readwarp.errors import InputError, OutputExistsError, UsageError
from readwarp.system.stopping import held_back

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # from file systems without locks
INDEXES = ("bai", "csi", "crai", "tbi")  # endings of files written beside an output
MAX_LIST = 1 << 24  # bytes of a list of files
SPARE_FILES = 32  # open in addition to the inputs
logger = logging.getLogger("readwarp")


def check_output(path: Path | None, force: bool, inputs: Iterable[object] = ()) -> None:
    """Raise OutputExistsError unless `force`, UsageError for an output that is an input or cannot be written.

    Checks the output's indexes too.
    """
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise UsageError(f"{path}: is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    written = (path, *(Path(f"{path}.{ending}") for ending in INDEXES))
    for each in written:
        check_replaceable(each)
    for other in (Path(str(other)) for other in inputs if str(other) != "-"):
        if same := next((each for each in written if is_same(each, other)), None):
            raise UsageError(f"{same}: is an input too" + (f" ({other})" if same != other else ""))
    if path.exists() and not force and not is_device(path):
        clear_remains(path)
        raise OutputExistsError(path)
    if not os.access(path if is_device(path) else path.parent, os.W_OK):
        raise UsageError(f"{path}: cannot be written (permission denied)")


def check_replaceable(path: Path) -> None:
    """Raise UsageError for a file of another user that nobody else may replace, in a folder such as /tmp."""
    with suppress(OSError):  # usually absent
        owner, folder = path.lstat().st_uid, path.parent.stat()
        if folder.st_mode & stat.S_ISVTX and os.geteuid() not in (0, owner, folder.st_uid):
            raise UsageError(f"{path}: is another user's, and nobody else can replace it in this folder")


def check_apart(outputs: Iterable[Path | None]) -> None:
    """Raise UsageError if two outputs are one file."""
    for path, other in combinations((path for path in outputs if path and str(path) != "-"), 2):
        if is_same(path, other):
            raise UsageError(f"{other}: is another output too")


def is_same(path: Path, other: Path) -> bool:
    """Return whether two names, which need not exist, refer to one file, also through links."""
    if path.resolve() == other.resolve():
        return True
    return path.is_file() and other.is_file() and path.samefile(other)


def check_inputs(paths: Iterable[object]) -> None:
    """Raise InputError for an input that cannot be opened, and UsageError if stdin (-) comes twice."""
    names = [str(path) for path in paths]
    if names.count("-") > 1:
        raise UsageError("stdin (-) can be read only once")
    for name in names:
        if name == "-" or Path(name).is_fifo():  # opening a pipe would consume from it
            continue
        try:
            with open(name, "rb"):
                pass
        except OSError as error:
            raise InputError(name, (error.strerror or "cannot be read").lower()) from None


def check_twice(paths: Iterable[Path]) -> None:
    """Raise UsageError for a file given twice, under one name or two (links)."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        if str(path) == "-" or not path.is_file():
            continue
        facts = path.stat()
        before = seen.setdefault((facts.st_dev, facts.st_ino), path)
        if before is not path:
            raise UsageError(f"{path}: is given twice" + (f" (it is {before})" if before != path else ""))


def named_files(name: object, kind: str) -> Iterator[Path]:
    """Yield the file of this name, or, for the text @FILE, the files it lists, without blank lines and those with #.

    Raises InputError for an unreadable list; kind: the alternative to a list, such as "a gVCF".
    """
    if not (isinstance(name, str) and name.startswith("@")):
        yield Path(str(name))
        return
    path = Path(name[1:])
    try:
        with path.open("rb") as file:
            text = file.read(MAX_LIST + 1)
        if len(text) > MAX_LIST:
            raise InputError(path, f"longer than {MAX_LIST >> 20} MiB: is not a list of file names (is it {kind}?)")
        if b"\0" in text:
            raise ValueError("no name has a NUL")
        lines = [line.strip() for line in text.decode().split("\n")]
    except ValueError:  # also if it is not UTF-8
        raise InputError(path, f"is not a list of file names (is it {kind}? then leave out the @)") from None
    except OSError as error:
        raise InputError(path, (error.strerror or "cannot be read").lower()) from None
    yield from (Path(line) for line in lines if line and not line.startswith("#"))


def allow_files(number: int, remedy: str) -> None:
    """Raise the limit of open files as far as needed. Raises InputError with the remedy if the system refuses."""
    wanted = number + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        reason = f"{number} files need {wanted} to be open at once, but this system allows {hard} (`ulimit -Hn`)"
        raise InputError("inputs", f"{reason}: {remedy}, or ask for a higher limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_resume(resume: bool, outputs: Iterable[Path | None], inputs: Iterable[str]) -> None:
    """Raise UsageError if --resume is given without an output file, or with inputs that can be read only once."""
    if resume and any(path is None or str(path) == "-" or is_device(path) for path in outputs):
        raise UsageError("--resume needs an output file (-o)")
    for path in inputs if resume else ():
        if path == "-" or not Path(path).is_file():
            raise UsageError(f"--resume: {path} cannot be read a second time")


def is_device(path: Path) -> bool:
    """Return whether it is /dev/null, /dev/stdout or a named pipe: written to, never replaced."""
    return path.exists() and not path.is_file()


def ending_of(path: object, *endings: str) -> str:
    """Return the ending of an output's name; the first for stdout (None, "-") and devices. Raises UsageError."""
    name = "-" if path is None else str(path)
    found = next((ending for ending in endings if name.lower().endswith(f".{ending}")), None)
    if found is None and name != "-" and not is_device(Path(name)):
        *others, last = endings
        raise UsageError(f"{name}: the output's name must end in .{', .'.join(others)} or .{last}")
    return found or endings[0]


def is_direct(output: object) -> bool:
    """Return whether it is stdout (None, "-"), a pipe or a device, which are written directly."""
    return output is None or str(output) == "-" or is_device(Path(str(output)))


def private_folder(output: object) -> Path:
    """Return the folder that holds an output until it is complete."""
    return Path(f"{output}.partial")


@contextmanager
def locked(*outputs: object) -> Iterator[None]:
    """Keep other processes off outputs with a lock file beside each. Raises UsageError.

    Leftovers of a killed process beside them are removed. The system releases a lock when its process ends. It is an
    flock(2), so on network file systems it is as reliable as their support of it; where there is none (Lustre mounted
    without `-o flock`), a warning is logged, and nothing is removed.
    """
    with ExitStack() as stack:
        for output in outputs:
            if not is_direct(output):
                stack.enter_context(_locked(output))
        yield


def clear_remains(*outputs: Path | None) -> None:
    """Remove leftovers of a killed process beside outputs."""
    for output in filter(None, outputs):
        if Path(f"{output}.lock").exists() or private_folder(output).exists():
            with suppress(UsageError), locked(output):  # of a live process, or in an unwritable folder
                pass


@contextmanager
def _locked(output: object) -> Iterator[None]:
    place, descriptor = Path(f"{output}.lock"), -1
    try:
        with held_back():
            descriptor, is_held = _lock(place, output)
        if is_held:
            remove_folder(private_folder(output))
        yield
    finally:
        if descriptor >= 0:
            with held_back():
                try:
                    place.unlink(missing_ok=True)
                except OSError as error:  # the output is complete, whatever became of its folder
                    logger.warning("%s: cannot be removed (%s)", place, error.strerror)
                os.close(descriptor)


def remove_folder(path: Path) -> None:
    """Remove a folder, if present, as far as possible: the next run removes the rest."""
    with held_back():
        shutil.rmtree(path, ignore_errors=True)


def _lock(place: Path, output: object) -> tuple[int, bool]:
    """Open and lock the file of this name; if another process has just removed it, the next one.

    Returns the file descriptor, and whether it is locked: it is not if the file system has no locks.
    """
    while True:
        descriptor = _open_lock(place, output)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino == place.lstat().st_ino:
                return descriptor, True
        except BlockingIOError:
            os.close(descriptor)
            raise UsageError(f"{output}: is being written by another process ({place})") from None
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno in NO_LOCKS:
                message = "%s: its file system has no locks (%s): let no other process write it"
                logger.warning(message, output, error.strerror)
                return descriptor, False
            os.close(descriptor)
            raise UsageError(f"{place}: cannot be locked ({error.strerror})") from error
        os.close(descriptor)


def _open_lock(place: Path, output: object) -> int:
    """Open or make the lock file. Raises UsageError for a file that we did not make, or could not remove in the end."""
    check_replaceable(place)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link, and no waiting for a pipe
    try:
        descriptor = os.open(place, flags, 0o644)
    except OSError as error:
        if place.is_symlink():
            raise UsageError(f"{place}: is a link where readwarp puts its lock: remove it") from None
        raise UsageError(f"{output}: cannot be written ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{place}: is not a file, where readwarp puts its lock: remove it")
    return descriptor
