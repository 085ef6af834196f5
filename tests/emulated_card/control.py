"""The stub driver from Python: what it found, what it counted, and which faults it should have."""

import atexit
import ctypes
import traceback
from functools import cache
from typing import Any

from emulated_card.build import build_driver, build_nvcomp
from emulated_card.options import Options

COUNTS = (
    "launches", "copies_up", "bytes_up", "copies_down", "bytes_down", "copies_within", "waits", "allocations", "frees",
    "pinned", "loads", "arrays",  # arrays: passed to launches
)  # fmt: skip
REPLAYS = ("running", "keeping", "repeating")  # Replay of driver.h
ROOM = 1 << 20  # bytes of findings
LOADER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)


@cache
def driver() -> ctypes.CDLL:
    """The library. It is loaded globally, so that whoever opens libcuda.so.1 later gets this one."""
    library = ctypes.CDLL(str(build_driver()), mode=ctypes.RTLD_GLOBAL)
    library.card_findings.restype = ctypes.c_size_t
    library.card_findings.argtypes = ctypes.c_char_p, ctypes.c_size_t
    library.card_add.argtypes = ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64
    return library


def set_up(options: Options) -> None:
    """Add the cards, before cuInit, and make them behave as the options say."""
    for card in options.each_card():
        _checked(driver().card_add(*card))
    driver().card_set_checks(options.check_flags(), options.seed, options.fails_on_finding)
    set_delays(options.load_us, options.launch_us, options.copy_us, options.seed)
    for fault in options.faults():
        fail(*fault)
    for loss in options.losses():
        lose(*loss)
    driver().card_set_loader(_load)
    if options.nvcomp:
        ctypes.CDLL(str(build_nvcomp()))  # whoever opens libnvcomp.so.6 later gets this one
    atexit.register(driver().card_stop)


def findings() -> list[str]:
    """The errors found since `clear_findings`, "kind: text"."""
    text = ctypes.create_string_buffer(ROOM)
    driver().card_findings(text, ROOM)
    return text.value.decode().splitlines()


def clear_findings() -> None:
    driver().card_clear_findings()


def counts() -> dict[str, int]:
    """What the cards have done since the process began."""
    values = (ctypes.c_uint64 * len(COUNTS))()
    driver().card_counts(values)
    return dict(zip(COUNTS, values, strict=True))


def set_delays(load: int = 0, launch: int = 0, copy: int = 0, seed: int = 0) -> None:
    """Each operation takes up to so many microseconds longer."""
    driver().card_set_delays(load, launch, copy, seed)


def set_checks(checks: int, seed: int = 0, fails_on_finding: bool = True) -> None:
    """Turn on checks (CHECK_ of card.h) from the next launch on."""
    driver().card_set_checks(checks, seed, fails_on_finding)


def set_replay(mode: str) -> None:
    """keeping: what copies from the card bring is kept, in the order of each stream, until this is called again.

    repeating: the same work is asked for again, once: kernels, fills and other copies do nothing, and copies from the
    card bring what was kept. running: as usual.
    """
    driver().card_set_replay(REPLAYS.index(mode))


def fail(function: str, calls: int, result: int) -> None:
    """The calls-th call of this function of the driver from now gives the result (a CUresult) and does nothing.

    "launch": the calls-th kernel that runs ends with it, as on a card, where a later call learns of it.
    """
    _checked(driver().card_fail(function.encode(), calls, result))


def lose(card: int, launches: int = 0, result: int = 999) -> None:
    """Lose the card at its launches-th launch from now (0: at once): all calls on it give the result."""
    _checked(driver().card_lose(card, launches, result))


def heal() -> None:
    """Remove all faults, both requested ones and those that a context remembers."""
    driver().card_clear_faults()


@LOADER
def _load(text: bytes, kernels: Any, most: int) -> int:
    """The driver's callback: the kernels of a PTX text. Exceptions cannot pass through C, so they are printed."""
    from emulated_card.kernels import load_ptx

    try:
        found = load_ptx(text.decode())
        if len(found) > most:
            raise ValueError(f"{len(found)} kernels in one text")
    except Exception:
        traceback.print_exc()
        return -1
    for index, (_, address) in enumerate(found):
        kernels[index] = address
    return len(found)


def _checked(result: int) -> None:
    if result:
        raise RuntimeError(f"the emulated card gives CUresult {result}")
