"""A card's errors become one line that names the card, the stage and the reason."""

import pytest

from readwarp.device import failure
from readwarp.errors import DeviceError, InputError, KernelError, WorkspaceFullError
from readwarp.metrics import Metrics


class CudaAPIError(RuntimeError):
    """As the driver's binding raises it."""

    def __init__(self, name):
        super().__init__(2, f"Call to cuStreamSynchronize results in {name}")
        self.msg = self.args[1]


CudaAPIError.__module__ = "numba.cuda.cudadrv.driver"


def raised(error, stage="extend_score"):
    with failure.translate_errors("cuda:1 (H200)"), Metrics().time("run"), Metrics().time(stage):
        raise error


def test_a_kernel_failure_names_card_stage_and_reason():
    with pytest.raises(KernelError) as caught:
        raised(CudaAPIError("CUDA_ERROR_ILLEGAL_ADDRESS"))
    assert str(caught.value) == (
        "a kernel failed on cuda:1 (H200) during extend_score: "
        "Call to cuStreamSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS"
    )
    assert caught.value.exit_code == 1


def test_the_first_failure_counts_not_those_of_leaving_the_card():
    def fail_and_leave():
        try:
            with Metrics().time("chain"):
                raise CudaAPIError("CUDA_ERROR_LAUNCH_FAILED")
        finally:
            raise CudaAPIError("CUDA_ERROR_LAUNCH_FAILED")

    with pytest.raises(KernelError, match="during chain: Call to"), failure.translate_errors("cuda:0 (L4)"):
        fail_and_leave()


def test_a_lost_card_is_a_device_error():
    with pytest.raises(DeviceError, match=r"cuda:1 \(H200\) is lost during seed: .*ECC_UNCORRECTABLE") as caught:
        raised(CudaAPIError("CUDA_ERROR_ECC_UNCORRECTABLE"), "seed")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("error", [CudaAPIError("CUDA_ERROR_OUT_OF_MEMORY"), WorkspaceFullError("1 of 2")])
def test_a_full_card_is_left_to_the_halving(error):
    assert failure.is_out_of_memory(error)
    with pytest.raises(type(error)):
        raised(error)


@pytest.mark.parametrize("error", [InputError("a.fq", "bad"), ValueError("CUDA_ERROR_OUT_OF_MEMORY")])
def test_other_errors_pass(error):
    assert not failure.is_out_of_memory(error)
    with pytest.raises(type(error)):
        raised(error)


def test_what_the_card_says_can_be_dropped_and_nothing_else():
    with failure.drop_errors():
        raise CudaAPIError("CUDA_ERROR_UNKNOWN")
    with pytest.raises(ValueError, match="other"), failure.drop_errors():
        raise ValueError("other")
