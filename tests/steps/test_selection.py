"""Selection: stable sampling, strata."""

import os
import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from enricher.steps.selection import is_sampled, position_of, sample
from enricher.trace import TraceRef


def _ref(number: int, **fields) -> TraceRef:
    return TraceRef(connection="c", project="p", trace_id=f"{number:032x}", **fields)


async def chosen_of(refs, **how):
    async def found():
        for ref in refs:
            yield ref

    return [ref async for ref in sample(found(), **how)]


async def test_a_rate_takes_about_its_share_and_the_same_traces_every_time():
    refs = [_ref(n) for n in range(1000)]
    first = [r.trace_id for r in await chosen_of(refs, rate=0.1)]
    assert first == [r.trace_id for r in await chosen_of(refs, rate=0.1)]
    assert 70 <= len(first) <= 130


def test_another_process_with_another_hash_seed_chooses_the_same():
    code = "from enricher.steps.selection import position_of; print(position_of('abc'))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert float(other.stdout) == position_of("abc")


@given(st.text(min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_rate_keeps_what_a_lower_one_takes(trace_id, a, b):
    low, high = sorted((a, b))
    assert not is_sampled(trace_id, low) or is_sampled(trace_id, high)
    assert not is_sampled(trace_id, 0)
    assert is_sampled(trace_id, 1)


async def test_a_stratum_gives_at_most_its_number_whatever_the_order():
    refs = [_ref(n, stratum="free" if n % 4 else "pro") for n in range(400)]
    chosen = await chosen_of(refs, max_per_stratum=20)
    assert Counter(r.stratum for r in chosen) == {"free": 20, "pro": 20}
    again = await chosen_of(reversed(refs), max_per_stratum=20)
    assert {r.trace_id for r in chosen} == {r.trace_id for r in again}


async def test_a_stratum_with_less_than_its_number_is_taken_whole():
    assert len(await chosen_of([_ref(n, stratum=None) for n in range(3)], max_per_stratum=20)) == 3
