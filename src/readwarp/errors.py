"""Errors that a user can act on, each with the exit code of the command line."""


class ReadwarpError(Exception):
    """An error that one line explains, with an exit code. Any other exception is a bug (exit code 1)."""

    exit_code = 1


class UsageError(ReadwarpError):
    """Options that cannot be combined, or an output that already exists."""

    exit_code = 2


class OutputExistsError(UsageError, FileExistsError):
    """An output that already exists and may not be replaced."""

    def __init__(self, path: object, remedy: str = "use --force to replace it"):
        super().__init__(f"{path}: already exists ({remedy})")
        self.path, self.remedy = path, remedy

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.remedy)


class MissingLibraryError(UsageError, ImportError):
    """An optional library that is not installed."""


class InputError(ReadwarpError):
    """Bad input, with the file, the record (1-based number or name) if known, and the reason."""

    exit_code = 3

    def __init__(self, path: object, reason: str, record: int | str | None = None):
        place = f"{path}: " if record is None else f"{path}: record {record}: "
        super().__init__(place + reason)
        self.path, self.record, self.reason = path, record, reason

    def __reduce__(self) -> tuple[object, ...]:  # other processes get it whole
        return type(self), (self.path, self.reason, self.record)


class DeviceError(ReadwarpError):
    """A requested device that cannot be used."""

    exit_code = 4


class KernelError(ReadwarpError):
    """A kernel that failed on a card."""


class MemoryBudgetError(ReadwarpError):
    """A memory budget too small for even one batch; the message says how much is needed."""

    exit_code = 5


class WorkerError(ReadwarpError):
    """A worker process that ended before its work was done, or could not be started."""


class TooLargeError(Exception):
    """An item of work that needs more memory than planned; it is repeated in halves (`stream.halving`)."""


class WorkspaceFullError(TooLargeError):
    """An item of work that needs more of a card's memory than planned."""


class PinnedMemoryError(ReadwarpError):
    """A lack of pinned host memory for copies to a card."""

    exit_code = 5


class StoppedError(Exception):
    """A run ended by another thread, so this worker's item is no longer needed."""
