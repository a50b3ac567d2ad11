"""pydantic-monty: a session of a pool of warm worker processes for each program, as its README shows.

The asynchronous pool, because only it can have calls in flight together. The programs are the Python twins. What is
measured, and the shape of a line, are those of `common.mjs`.
"""

import asyncio
import json
import math
import sys
import time
from importlib.metadata import version
from pathlib import Path

from pydantic_monty import AsyncMonty, Monty

FOLDER = Path(__file__).parent
QUICK = "--quick" in sys.argv
IDLE = 10 if QUICK else 100
BUDGET = 5 if QUICK else 30
# By default a session ends at 1,000 calls.
LIMITS = {"max_suspensions": 1_000_000}

# Name, program, what it returns, units of work in a run, runs, whether making the sandbox is part of the time.
CASES = [
    ("start and return", "start", 1, 1, 200, True),
    ("one call", "one_call", 1, 1, 200, True),
    ("sequential call", "sequential", 499500, 1000, 30, False),
    ("parallel call", "parallel", 499500, 1000, 30, False),
    ("1 MiB in and out", "mebibyte", 10 << 20, 10, 20, False),
    ("fib(25)", "fib", 75025, 1, 30, False),
    ("loop of 10 million", "loop", 49999995000000, 1, 15, False),
]


async def noop(n):
    return n


async def echo(text):
    return text


def emit(case, unit, p50, p99, n, note):
    line = {"peer": "pydantic-monty", "version": f"{version('pydantic-monty')}, Python {sys.version.split()[0]}"}
    line |= {"case": case, "unit": unit, "p50": p50, "p99": p99, "n": n, "note": note}
    print(json.dumps(line), flush=True)


def at(times, share):
    return times[math.floor((len(times) - 1) * share + 0.5)]


def more(run, runs, end):
    """Three runs that do not count, then the runs, five of them at least and no more than fit in the time."""
    wanted = math.ceil(runs / 10) + 3 if QUICK else runs
    return run < wanted and (run < 5 or time.perf_counter() < end)


async def timed(pool, case):
    name, program, expected, per, runs, fresh = case
    text = (FOLDER / "programs" / f"{program}.py").read_text()
    times = []
    run, end = -3, time.perf_counter() + BUDGET
    while more(run, runs, end):
        await asyncio.sleep(0.015)
        begun = time.perf_counter()
        async with pool.checkout(limits=LIMITS) as session:
            ready = time.perf_counter()
            value = await session.feed_run(text, external_lookup={"noop": noop, "echo": echo})
            done = time.perf_counter()
        if value != expected:
            raise ValueError(f"{program} returned {value!r}")
        if run >= 0:
            times.append((done - (begun if fresh else ready)) * 1e6 / per)
        run += 1
    return sorted(times)


def blocking():
    """The median of a sequential call with the synchronous pool, whose tools are plain functions."""
    text = (FOLDER / "programs" / "sequential.py").read_text().replace("await ", "")
    times = []
    with Monty() as pool:
        for _ in range(8):
            with pool.checkout(limits=LIMITS) as session:
                begun = time.perf_counter()
                session.feed_run(text, external_lookup={"noop": lambda n: n})
                times.append((time.perf_counter() - begun) * 1e6 / 1000)
    return at(sorted(times), 0.5)


def private_kib(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def children():
    """The pool starts its workers on threads of its own, and the kernel lists children by the thread."""
    return [pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]


async def idle():
    """Private memory of the workers of a pool that keeps as many warm, each with a session open."""
    before = set(children())
    async with AsyncMonty(min_processes=IDLE, max_processes=IDLE) as pool:
        sessions = [pool.checkout() for _ in range(IDLE)]
        for session in sessions:
            await session.__aenter__()
        await asyncio.sleep(1)
        workers = [pid for pid in children() if pid not in before]
        if len(workers) != IDLE:
            raise RuntimeError(f"{len(workers)} workers for {IDLE} sessions")
        each = sum(map(private_kib, workers)) / IDLE
        for session in sessions:
            await session.__aexit__(None, None, None)
    return each


async def main():
    try:
        emit("idle sandbox", "KiB", await idle(), None, IDLE, "a worker process with a session open")
    except Exception as error:
        emit("idle sandbox", "KiB", None, None, 0, repr(error))
    notes = {
        "start and return": "from a pool of warm processes",
        "sequential call": lambda: f"with the synchronous pool: {blocking():.1f} us",
    }
    async with AsyncMonty() as pool:
        for case in CASES:
            note = notes.get(case[0], "")
            try:
                times = await timed(pool, case)
                note = note() if callable(note) else note
                emit(case[0], "us", at(times, 0.5), at(times, 0.99), len(times), note)
            except Exception as error:
                emit(case[0], "us", None, None, 0, repr(error))


asyncio.run(main())
