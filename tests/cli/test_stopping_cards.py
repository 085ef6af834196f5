"""Ctrl-C while batches are on a card: the run ends at once, with its code, and frees no memory still in use."""

import subprocess
import sys

import pytest

from emulated_card import environment
from helpers.cards import two_cards

pytestmark = [pytest.mark.cards, two_cards]

SCRIPT = """
import os, signal, sys, threading, time
from contextlib import closing
import numpy as np
from readwarp.cli import doctor, main
from readwarp.device import memory
from readwarp.device.backend import Backend
from readwarp.device.workspaces import Workspaces
from readwarp.stream.runner import map_ordered

VALUES = np.zeros(1 << 22, np.uint8)
began = threading.Event()

def command(options):
    with closing(Workspaces(Backend("cuda", (0, 1)), 8, 1 << 24)) as workspaces:
        def work(number):
            with workspaces.borrow():
                for _ in range(1000):
                    with memory.current().frame() as workspace:
                        workspace.download(workspace.upload(VALUES))
                        began.set()
        for _ in map_ordered(range(1000), work, 8, 10):
            pass

def stop():
    began.wait(30)
    time.sleep(0.2)
    for _ in range(TIMES):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

TIMES = int(sys.argv[1])
doctor.run = command
sys.argv = ["readwarp", "doctor"]
threading.Thread(target=stop, daemon=True).start()
sys.exit(main())
"""


@pytest.mark.parametrize("copy_us", [0, 20_000])
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_workers_copy(times, copy_us):
    """A second Ctrl-C does not wait for them: the driver frees what they use."""
    command, cards = [sys.executable, "-c", SCRIPT, str(times)], environment(copy_us=copy_us, seed=1)
    done = subprocess.run(command, env=cards, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "readwarp: error: interrupted\n")
