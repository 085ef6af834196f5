"""Tests of one group run on one worker, so that what they share is made once."""

import os

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="all tests run in one process")
def test_groups_reach_the_scheduler(request):
    """Under pytest 9.2, pytest-xdist 3.8 forgets them and says nothing (pytest-dev/pytest-xdist#1386)."""
    assert request.node.nodeid.endswith("@groups")
