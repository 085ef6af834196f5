"""The stub of libcuda: cards, contexts, memory, refused launches, errors on demand."""

import ctypes
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from emulated_card import control, environment
from emulated_card.fresh import Pointer, fresh_driver

pytestmark = pytest.mark.cards

MEBIBYTE = 1 << 20
INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INVALID_CONTEXT, NO_BINARY, NOT_FOUND = 1, 2, 3, 201, 209, 500
INVALID_HANDLE, LAUNCH_FAILED, NOT_SUPPORTED, UNKNOWN = 400, 719, 801, 999


@pytest.fixture
def driver(tmp_path):
    with fresh_driver(tmp_path, "9.0:64M,7.5:32M") as fresh:
        fresh.use(0)
        yield fresh


def kinds() -> list[str]:
    return [line.split(":")[0] for line in control.findings()]


def attribute(driver, number: int, device: int) -> int:
    return driver.made("cuDeviceGetAttribute", number, device).value or 0


def test_each_card_has_its_own_capability_and_memory(driver):
    assert driver.made("cuDeviceGetCount").value == 2
    assert [(attribute(driver, 75, d), attribute(driver, 76, d)) for d in (0, 1)] == [(9, 0), (7, 5)]
    assert [driver.made("cuDeviceTotalMem_v2", d).value for d in (0, 1)] == [64 * MEBIBYTE, 32 * MEBIBYTE]
    assert [attribute(driver, 97, d) for d in (0, 1)] == [232448, 65536]  # shared memory that a block may ask for
    assert driver.result("cuDeviceGet", ctypes.byref(ctypes.c_int()), 2) == 101


def test_nothing_works_before_the_driver_is_initialized(tmp_path, driver):
    other = ctypes.CDLL(str(tmp_path / "libcuda-of-a-test.so"))
    assert other.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) == 0  # the same file is the same library
    script = f"import ctypes; print(ctypes.CDLL({other._name!r}).cuDeviceGetCount(None))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == f"{NOT_INITIALIZED}\n"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12: fork with threads
def test_a_forked_child_has_no_driver(driver):
    child = os.fork()
    if not child:
        os._exit(driver.result("cuCtxSynchronize") == driver.result("cuInit", 0) == NOT_INITIALIZED)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_call_needs_a_context_and_a_free_without_one_is_told(driver):
    address = driver.allocated(100)
    driver.call("cuCtxSetCurrent", None)
    assert driver.result("cuMemAlloc_v2", ctypes.byref(Pointer()), ctypes.c_size_t(100)) == INVALID_CONTEXT
    assert control.findings() == []
    assert driver.result("cuMemFree_v2", address) == INVALID_CONTEXT
    assert kinds() == ["no context"]


def test_contexts_are_a_stack(driver):
    first = driver.made("cuCtxGetCurrent").value
    second = driver.made("cuDevicePrimaryCtxRetain", 1)
    driver.call("cuCtxPushCurrent_v2", second)
    assert (driver.made("cuCtxGetDevice").value, driver.made("cuCtxGetCurrent").value) == (1, second.value)
    assert driver.made("cuCtxPopCurrent_v2").value == second.value
    assert driver.made("cuCtxGetCurrent").value == first


def test_a_card_fills_up_and_what_is_freed_is_whole_again(driver):
    parts = [driver.allocated(10 * MEBIBYTE) for _ in range(6)]
    assert driver.result("cuMemAlloc_v2", ctypes.byref(Pointer()), ctypes.c_size_t(10 * MEBIBYTE)) == OUT_OF_MEMORY
    for part in parts[1:3]:
        driver.call("cuMemFree_v2", part)
    assert driver.allocated(20 * MEBIBYTE).value == parts[1].value
    assert all(part.value % 256 == 0 for part in parts)
    assert all(b.value - a.value >= 10 * MEBIBYTE + 512 for a, b in pairwise(parts))


def test_a_gap_is_used_where_a_red_zone_is_left(driver):
    parts = [driver.allocated(1024) for _ in range(3)]
    driver.call("cuMemFree_v2", parts[1])
    assert driver.allocated(1280).value > parts[2].value
    assert driver.allocated(1024).value == parts[1].value


def test_free_memory_is_what_was_not_handed_out(driver):
    left, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.allocated(MEBIBYTE)
    driver.call("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(total))
    assert total.value == 64 * MEBIBYTE
    assert 0 <= total.value - left.value - MEBIBYTE <= 1024


def test_memory_that_is_freed_twice_is_told(driver):
    address = driver.allocated(100)
    driver.call("cuMemFree_v2", address)
    assert driver.result("cuMemFree_v2", address) == INVALID_VALUE
    assert kinds() == ["bad free"]


@pytest.mark.parametrize("nbytes", [100, 20_000])
def test_memory_is_handed_out_with_garbage_and_counts_as_never_written(driver, nbytes):
    for _ in range(2):
        address = driver.allocated(nbytes)
        assert driver.bytes_at(address, nbytes) == b"\xa5" * nbytes
        assert driver.library.card_written(address, Pointer(nbytes)) == 0
        driver.upload(address, (ctypes.c_uint8 * nbytes)(*[7] * nbytes))
        assert driver.bytes_at(address, nbytes) == b"\x07" * nbytes
        assert driver.library.card_written(address, Pointer(nbytes)) == nbytes
        driver.call("cuMemFree_v2", address)


def test_a_copy_on_the_card_brings_along_what_was_never_written(driver):
    source, target = driver.allocated(64), driver.allocated(64)
    driver.call("cuMemsetD8_v2", source, 3, ctypes.c_size_t(16))
    driver.call("cuMemcpyDtoD_v2", target, source, ctypes.c_size_t(64))
    assert driver.bytes_at(target, 64) == b"\x03" * 16 + b"\xa5" * 48
    assert driver.library.card_written(target, Pointer(64)) == 16


def test_copies_that_leave_their_memory_are_refused(driver):
    mine, host = driver.allocated(100), (ctypes.c_uint8 * 200)()
    assert driver.result("cuMemcpyHtoD_v2", mine, host, ctypes.c_size_t(101)) == INVALID_VALUE
    driver.use(1)
    assert driver.result("cuMemcpyHtoD_v2", mine, host, ctypes.c_size_t(100)) == INVALID_VALUE
    assert kinds() == ["not allocated", "other card"]


@pytest.mark.parametrize("access", ["pinned[0]", "memory[4096]"])
def test_pinned_memory_ends_where_it_ends(access):
    """Reading it after it was freed, or beyond its end, kills the process."""
    script = f"""
import ctypes, tempfile
from pathlib import Path
from emulated_card.fresh import fresh_driver
with tempfile.TemporaryDirectory() as folder, fresh_driver(Path(folder), "9.0:32M") as driver:
    driver.use(0)
    memory = (ctypes.c_uint8 * 8192).from_address(ctypes.addressof(driver.pinned(4096)))
    pinned = driver.pinned(100)
    pinned[99] = memory[4095] = 1
    driver.call("cuMemFreeHost", pinned)
    print("so far", flush=True)
    print({access})
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment("9.0:32M"), capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("so far\n", -11), done.stderr


def test_a_call_fails_when_it_was_asked_to(driver):
    control.fail("cuMemAlloc", 2, OUT_OF_MEMORY)
    control.fail("cuMemHostAlloc", 1, OUT_OF_MEMORY)
    driver.allocated(10)
    assert driver.result("cuMemAlloc_v2", ctypes.byref(Pointer()), ctypes.c_size_t(10)) == OUT_OF_MEMORY
    driver.allocated(10)
    assert driver.result("cuMemHostAlloc", ctypes.byref(Pointer()), ctypes.c_size_t(10), 0) == OUT_OF_MEMORY
    driver.pinned(10)


def test_a_lost_card_is_lost_for_good_and_the_other_one_is_not(driver):
    control.lose(0)
    assert driver.result("cuCtxSynchronize") == UNKNOWN
    assert driver.result("cuDevicePrimaryCtxRetain", ctypes.byref(Pointer()), 0) == UNKNOWN
    driver.use(1)
    driver.allocated(10)
    assert control.counts()["allocations"] == 1


def test_a_kernel_that_fails_is_learned_of_later_and_by_every_later_call(driver):
    address, kernel = driver.allocated(8), driver.kernel(b"nothing")
    control.fail("launch", 1, LAUNCH_FAILED)
    assert driver.launch(kernel) == 0
    assert driver.result("cuCtxSynchronize") == LAUNCH_FAILED
    assert driver.result("cuMemAlloc_v2", ctypes.byref(Pointer()), ctypes.c_size_t(10)) == LAUNCH_FAILED
    assert driver.result("cuMemFree_v2", address) == 0
    control.heal()
    driver.allocated(10)


def test_a_card_that_is_lost_at_a_launch(driver):
    kernel = driver.kernel(b"nothing")
    control.lose(0, launches=1, result=UNKNOWN)
    assert driver.launch(kernel) == 0
    assert driver.result("cuStreamSynchronize", None) == UNKNOWN
    driver.call("cuDevicePrimaryCtxReset_v2", 0)
    assert driver.result("cuCtxSynchronize") == UNKNOWN


@pytest.mark.parametrize("asked", [{"block": 1025}, {"grid_x": 0}, {"grid_y": 65536}, {"shared": 49153}])
def test_a_launch_that_no_card_could_do_is_refused(driver, asked):
    assert driver.launch(driver.kernel(b"nothing"), **asked) == INVALID_VALUE


def test_arrays_of_a_launch_lie_on_its_card(driver):
    kernel, mine = driver.kernel(b"reads", (True, False)), driver.allocated(8)
    driver.use(1)
    there = driver.allocated(8)
    assert driver.launch(kernel, mine.value) == INVALID_VALUE
    assert driver.launch(kernel, there.value + 8) == INVALID_VALUE
    assert kinds() == ["other card", "not allocated"]
    assert control.counts()["launches"] == 0


def test_a_kernel_of_an_unloaded_library_is_told(driver):
    kernel = driver.kernel(b"gone")
    driver.call("cuLibraryUnload", driver.made("cuKernelGetLibrary", kernel))
    assert driver.launch(kernel) == INVALID_HANDLE
    assert kinds() == ["unloaded"]


def test_only_ptx_is_loaded_and_a_kernel_is_found_by_name(driver):
    kernel = driver.kernel(b"here")
    arguments = None, None, 0, None, None, 0
    assert driver.result("cuLibraryLoadData", ctypes.byref(Pointer()), b"\x7fELF .version", *arguments) == NO_BINARY
    library = driver.made("cuKernelGetLibrary", kernel)
    assert driver.result("cuLibraryGetKernel", ctypes.byref(Pointer()), library, b"there") == NOT_FOUND


def test_a_function_that_is_not_there_says_so(driver, capfd):
    function = ctypes.c_void_p()
    arguments = ctypes.byref(function), 13000, Pointer(0), None
    driver.call("cuGetProcAddress_v2", b"cuArrayCreate", *arguments)
    assert ctypes.CFUNCTYPE(ctypes.c_int)(function.value)() == NOT_SUPPORTED
    assert capfd.readouterr().err == "emulated card: cuArrayCreate is not there\n"
    assert driver.result("cuGetProcAddress_v2", b"cuNothing", *arguments) == NOT_FOUND
