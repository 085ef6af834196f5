"""Parts of a room are shared by threads and by forked processes."""

import os
import threading
from contextlib import closing

from readwarp.stream.room import PipeRoom


def test_all_of_a_room_is_had_alone():
    with closing(PipeRoom(3)) as room:
        at_work, most, alone = 0, 0, []
        lock = threading.Lock()

        def work(number: int) -> None:
            nonlocal at_work, most
            for _ in range(50):
                with room.take(number):
                    with lock:
                        at_work += 1
                        most = max(most, at_work)
                        if number == 3:
                            alone.append(at_work)
                    os.sched_yield()
                    with lock:
                        at_work -= 1

        threads = [threading.Thread(target=work, args=(number,)) for number in (1, 1, 1, 1, 3, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert alone == [1] * 100 and 1 <= most <= 3


def test_processes_share_a_room():
    with closing(PipeRoom(2)) as room, room.take(1):
        (ours, theirs), done = os.pipe(), []
        if (pid := os.fork()) == 0:
            with room.take(2):
                os.write(theirs, b"x")
            os._exit(0)
        os.set_blocking(ours, False)
        try:
            os.read(ours, 1)
        except BlockingIOError:
            done.append("waits")
        room._parts.give(1)
        os.set_blocking(ours, True)
        assert os.read(ours, 1) == b"x" and done == ["waits"]
        os.waitpid(pid, 0)
        assert room._parts.take(3) == 2
        room._parts.give(1)
        os.close(ours)
        os.close(theirs)
