# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that models call, calls that are stopped, calls that are awaited."""
import asyncio
import gc
import pathlib
import sys
import threading
import time

import numpy as np
import pytest

import mpk

RELAX = pathlib.Path(__file__).resolve().parents[1] / "data" / "relax"
BOTH = pytest.mark.parametrize("name", ["registered", "registered_compiled"])


@pytest.fixture(autouse=True)
def _none_left():
    yield
    for name in ("test.vm.identity", "test.vm.add"):
        try:
            mpk.unregister(name)
        except KeyError:
            pass


def arrays(function):
    """What fits its inputs."""
    rng = np.random.default_rng(3)
    return [rng.standard_normal([2 if n < 0 else n for n in t.shape]).astype(t.dtype) for t in function.inputs]


@BOTH
def test_functions_are_called_by_name(name):
    seen = []

    @mpk.register("test.vm.identity")
    def identity(x, out):
        seen.append((type(x), x.dtype))
        out[:] = x

    @mpk.register("test.vm.add")
    def add(x, y):
        return x + y

    model = mpk.open(RELAX / f"{name}.so")
    x, = arrays(model.identity)
    given = model.identity(x)
    assert seen == [(np.ndarray, np.dtype("float32"))]
    assert np.array_equal(given, -x) or np.array_equal(given, x)
    x, y = arrays(model.add)
    assert np.array_equal(model.add(x, y), x + y)
    assert identity.__name__ == "identity" and add(1, 2) == 3


@BOTH
def test_what_a_function_raises_is_raised(name):
    class Own(Exception):
        """None that the library knows by name."""

    why = [ValueError("not\ntoday"), Own("mine"), KeyError("k"), KeyboardInterrupt()]

    def fail(x, out):
        raise why[0]

    mpk.register("test.vm.identity", fail)
    mpk.register("test.vm.add", lambda x, y: x + y)
    model = mpk.open(RELAX / f"{name}.so")
    x, = arrays(model.identity)
    while why:
        with pytest.raises(type(why[0])) as seen:
            model.identity(x)
        assert seen.value is why[0] and seen.traceback[-1].name == "fail"
        why.pop(0)
    mpk.register("test.vm.identity", lambda x, out: out.__setitem__(slice(None), x))
    model.identity(x)


@BOTH
def test_arguments_that_are_kept_stay_good(name):
    kept = []

    def identity(x, out):
        out[:] = x
        kept.extend((x, out))

    mpk.register("test.vm.identity", identity)
    mpk.register("test.vm.add", lambda x, y: x + y)
    model = mpk.open(RELAX / f"{name}.so")
    x, = arrays(model.identity)
    x.flags.writeable = False
    for i in range(20):
        model.identity(x + np.float32(i))
    model.close()
    del model
    gc.collect()
    for i in range(20):
        assert np.array_equal(kept[2 * i], x + np.float32(i))


def test_registered_replaced_taken_away():
    mpk.register("test.vm.identity", lambda x, out: out.__setitem__(slice(None), x))
    mpk.register("test.vm.add", lambda x, y: x + y)
    model = mpk.open(RELAX / "registered.so")
    x, y = arrays(model.add)
    assert np.array_equal(model.add(x, y), x + y)
    mpk.register("test.vm.add", lambda x, y: x - y)
    assert np.array_equal(model.add(x, y), x - y)
    model.register("test.vm.add", lambda x, y: x * y)
    assert np.array_equal(model.add(x, y), x * y)
    model.register("test.vm.add", None)
    assert np.array_equal(model.add(x, y), x - y)
    mpk.unregister("test.vm.add")
    with pytest.raises(mpk.Error):
        model.add(x, y)
    with pytest.raises(KeyError):
        mpk.unregister("test.vm.add")

    class Counted:
        """Whose references are counted."""

        def __call__(self, x, y):
            return x

    counted = Counted()
    before = sys.getrefcount(counted)
    for _ in range(10):
        mpk.register("test.vm.add", counted)
        model.add(x, y)
    mpk.unregister("test.vm.add")
    assert sys.getrefcount(counted) == before
    for bad in ((3, print), ("a\0b", print), ("", print)):
        with pytest.raises((TypeError, ValueError)):
            mpk.register(*bad)
    with pytest.raises(TypeError, match="cannot be called"):
        mpk.register("test.vm.add", 3)


def waiting():
    """A model that is in a function of Python, and what lets it go on."""
    inside, free = threading.Event(), threading.Event()

    def identity(x, out):
        inside.set()
        free.wait(10)
        out[:] = x

    mpk.register("test.vm.identity", identity)
    mpk.register("test.vm.add", lambda x, y: x + y)
    model = mpk.open(RELAX / "registered.so")
    return model.identity, arrays(model.identity)[0], inside, free


def test_a_call_is_stopped():
    f, x, inside, free = waiting()
    seen = []

    def work():
        try:
            f(x)
        except mpk.Stop as why:
            seen.append(str(why))

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    f.stop()
    free.set()
    thread.join()
    assert len(seen) == 1
    with pytest.raises(mpk.Stop):
        f(x)
    f.resume()
    assert f(x).shape == x.shape
    f.stop_after(0)
    with pytest.raises(mpk.Stop):
        f(x)
    f.stop_after(1000)
    f(x)
    f.resume()
    for bad in (-1, float("nan")):
        with pytest.raises(ValueError):
            f.stop_after(bad)
    assert issubclass(mpk.Stop, mpk.Error)


def test_calls_are_awaited_and_cancelled():
    f, x, inside, free = waiting()

    async def work():
        first, second = asyncio.ensure_future(f.call_async(x)), asyncio.ensure_future(f.call_async(x))
        while not inside.is_set():
            await asyncio.sleep(0.001)  # the loop runs while the model does
        second.cancel()  # waits for the first, which is not stopped by it
        await asyncio.sleep(0.01)
        assert second.cancelled() and not first.done()
        free.set()
        given = await first
        assert given.shape == x.shape
        free.clear()
        inside.clear()
        third = asyncio.ensure_future(f.call_async(x))
        while not inside.is_set():
            await asyncio.sleep(0.001)
        third.cancel()
        await asyncio.sleep(0.01)
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await third
        assert np.array_equal(await f.call_async(x), given)
        with pytest.raises(ValueError):
            await f.call_async(x[:, :0] if x.ndim > 1 else x[:0])
        with pytest.raises(asyncio.TimeoutError):
            free.clear()
            threading.Timer(0.2, free.set).start()
            await asyncio.wait_for(f.call_async(x), 0.05)

    start = time.monotonic()
    for _ in range(2):  # another loop
        asyncio.run(work())
        free.clear()
        inside.clear()
    assert time.monotonic() - start < 8


def test_sessions_are_stopped_apart():
    f, x, inside, free = waiting()
    free.set()
    other = f.session()
    f.stop()
    with pytest.raises(mpk.Stop):
        f(x)
    assert other(x).shape == x.shape
    f.resume()


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="Python has notes from 3.11 on")
@pytest.mark.parametrize("name", ["registered", "registered_compiled"])
def test_exceptions_say_where(name):
    def refuse(*args):
        raise ValueError("no more rows")

    model = mpk.open(RELAX / f"{name}.so")
    model.register("test.vm.identity", refuse)
    with pytest.raises(ValueError, match="no more rows") as raised:
        model.identity(np.ones((2, 4), "float32"))
    assert len(raised.value.__notes__) == 1
    assert "in 'test.vm.identity'" in raised.value.__notes__[0] and "of 'identity'" in raised.value.__notes__[0]
