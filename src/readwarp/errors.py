"""Errors that a user can act on, each with the exit code the command line ends with."""


class ReadwarpError(Exception):
    """An error with one clear line and an exit code; anything else is a bug (exit code 1)."""

    exit_code = 1


class UsageError(ReadwarpError):
    """Options that do not go together, an output that exists already."""

    exit_code = 2


class InputError(ReadwarpError):
    """Bad input: names the file, the record (1-based number or name) where known, and the reason."""

    exit_code = 3

    def __init__(self, path: object, reason: str, record: int | str | None = None):
        place = f"{path}: " if record is None else f"{path}: record {record}: "
        super().__init__(place + reason)
        self.path, self.record, self.reason = path, record, reason


class DeviceError(ReadwarpError):
    """A device was asked for and is not usable."""

    exit_code = 4


class KernelError(ReadwarpError):
    """A kernel failed on a card."""


class MemoryBudgetError(ReadwarpError):
    """Not even one batch fits the memory budget; says the minimum."""

    exit_code = 5


class TooLargeError(Exception):
    """An item of work needs more memory than was planned for it: it is done again in halves (`stream.halving`)."""


class WorkspaceFullError(TooLargeError):
    """... of a card's memory."""


class PinnedMemoryError(ReadwarpError):
    """The host has not the memory that copies to a card go through."""

    exit_code = 5


class StoppedError(Exception):
    """The run has ended in another thread; what a worker still does for it is of no use."""
