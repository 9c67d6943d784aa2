"""Several things at a time: all of them, in order, and none begun after an error."""

import sys
import threading
import time

import pytest

from limelight._core.patience import HANDOVER, promptly, side_by_side


@pytest.mark.parametrize("hands", [1, 2, 5])
def test_every_item_is_done_once_and_in_order(hands):
    seen = []
    found = side_by_side(lambda x: (seen.append(x), x * x)[1], range(20), hands, threading.Event())
    assert found == [x * x for x in range(20)]
    assert sorted(seen) == list(range(20))


def test_two_hands_work_at_the_same_time():
    """Each waits for the other: one after the other they would not end."""
    both = threading.Barrier(2, timeout=20)
    assert len(side_by_side(lambda _: both.wait(), range(2), 2, threading.Event())) == 2


def test_the_first_error_is_raised_and_nothing_else_is_begun():
    begun, stop = [], threading.Event()

    def task(item):
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        stop.wait(20)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(task, range(9), 2, stop)
    assert set(begun) <= {0, 1}
    assert time.monotonic() - began < 10


def test_ctrl_c_before_a_hand_was_started_is_ctrl_c(monkeypatch):
    """Nothing waits for a thread that was never started."""
    start, begun = threading.Thread.start, []

    def interrupted(thread):
        begun.append(thread)
        if len(begun) == 2:
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    stop = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(lambda item: stop.wait(20), range(9), 2, stop)
    assert stop.is_set()


def test_of_two_at_a_time_the_last_to_leave_sets_it_back():
    usual, first, second = sys.getswitchinterval(), promptly(), promptly()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(HANDOVER)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == usual


def test_python_is_handed_over_sooner_and_then_as_before():
    """Within the block alone, also when it fails; a shorter time that was chosen stays."""
    usual, seen = sys.getswitchinterval(), []

    def fail():
        with promptly():
            seen.append(sys.getswitchinterval())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [pytest.approx(HANDOVER)]
    assert usual > HANDOVER
    assert sys.getswitchinterval() == usual
    sys.setswitchinterval(HANDOVER / 4)
    try:
        with promptly():
            assert sys.getswitchinterval() == pytest.approx(HANDOVER / 4)
    finally:
        sys.setswitchinterval(usual)
