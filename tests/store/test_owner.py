"""Telling whether a process still lives."""

import os
import subprocess
import sys

from enricher.store.owner import describe, is_surely_gone, this_process


def test_this_process_is_not_gone():
    assert not is_surely_gone(this_process())
    assert not is_surely_gone(f"{this_process()}/more")


def test_a_process_that_ended_is_gone():
    program = "from enricher.store.owner import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert is_surely_gone(ended.stdout.strip())


def test_a_process_id_that_was_used_again_is_told_apart_by_its_start():
    host, namespace, pid, _ = this_process().split("/")
    assert pid == str(os.getpid())
    assert is_surely_gone(f"{host}/{namespace}/{pid}/1")


def test_nobody_knows_about_another_host_or_container():
    host, namespace, _, start = this_process().split("/")
    assert not is_surely_gone(f"elsewhere/{namespace}/1/{start}")
    assert not is_surely_gone(f"{host}/[other]/1/{start}")
    assert not is_surely_gone("nonsense")


def test_an_owner_is_named_for_a_person():
    assert describe("db1/[4026531836]/4711/99/ab") == "process 4711 on db1"
    assert describe("nonsense") == "nonsense"
