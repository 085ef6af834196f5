"""The cards and their behaviour, as one line of text that goes to child processes in EMULATED_CARDS.

9.0:8G,8.0:512M;checks=written,races;seed=1;load_us=200;fail=cuMemAlloc:3:2;lose=0:5:999
"""

from dataclasses import dataclass

VARIABLE = "EMULATED_CARDS"
CHECKS = {"written": 1, "races": 2, "accesses": 4}  # CHECK_ of card.h
USUAL_CARDS = "9.0:8G,8.0:8G"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Options:
    cards: str = USUAL_CARDS  # compute capability and memory of each
    checks: str = "written"  # names of CHECKS
    seed: int = 0  # of the order of blocks and warps, and of delays; 0: as they come
    load_us: int = 0  # loading, launching and copying take up to so many microseconds longer
    launch_us: int = 0
    copy_us: int = 0
    fails_on_finding: int = 1  # a launch that a check has found something in ends with an error
    fail: str = ""  # function:calls:result, ...: the calls-th call of a function of the driver gives the result
    nvcomp: int = 1  # libnvcomp.so.6 is installed
    lose: str = ""  # card:launches:result, ...: the card is lost with its launches-th launch

    @classmethod
    def parsed(cls, text: str) -> "Options":
        """Raises ValueError, TypeError."""
        cards, *others = text.split(";")
        given = dict(part.split("=", 1) for part in others if part)
        return cls(cards, **{name: _like(getattr(cls(), name, ""), value) for name, value in given.items()})

    def __str__(self) -> str:
        usual = Options()
        differing = [name for name in self.__slots__[1:] if getattr(self, name) != getattr(usual, name)]
        return ";".join([self.cards, *(f"{name}={getattr(self, name)}" for name in differing)])

    def each_card(self) -> list[tuple[int, int, int]]:
        """Major and minor compute capability, and bytes, of each card."""
        return [_card(text) for text in self.cards.split(",")]

    def check_flags(self) -> int:
        return sum(CHECKS[name] for name in self.checks.split(",") if name)

    def faults(self) -> list[tuple[str, int, int]]:
        return [(name, int(calls), int(result)) for name, calls, result in _split(self.fail)]

    def losses(self) -> list[tuple[int, int, int]]:
        return [(int(card), int(launches), int(result)) for card, launches, result in _split(self.lose)]


def _like(usual: object, value: str) -> object:
    return int(value) if isinstance(usual, int) else value


def _card(text: str) -> tuple[int, int, int]:
    capability, size = text.split(":")
    major, minor = capability.split(".")
    return int(major), int(minor), int(size[:-1]) * UNITS[size[-1]]


def _split(text: str) -> list[list[str]]:
    return [part.split(":") for part in text.split(",") if part]
