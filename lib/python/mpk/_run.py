# SPDX-License-Identifier: Apache-2.0
"""Models, functions, tensors: what the extension module has, and what is easier said in Python.

Nothing here imports NumPy or PyTorch. Arguments are taken by the protocols that they have, and results come back as what
the first argument is, without a copy.
"""
from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from . import _core
from ._core import BudgetError, Error, Event, Function, Model, Shape, Stop, Tensor, Type, Value, library_version, shape

if TYPE_CHECKING:
    import asyncio

__all__ = ["BudgetError", "Error", "Event", "Function", "Model", "Shape", "Stop", "Tensor", "Type", "Value", "library_version", "open", "register",
           "shape", "unregister"]

_Called = TypeVar("_Called", bound=Callable[..., Any])

_DEVICES = {"": 0, "cpu": 1, "cuda": 2, "opencl": 4, "rocm": 10}


def _inspected(function: Function) -> inspect.Signature:
    """What inspect.signature says of a function: its inputs by their names, as far as the file has names."""
    inputs = function.inputs
    if not inputs:
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    names: list[str] = []
    for i, t in enumerate(inputs):
        name = re.sub(r"\W", "_", t.name)
        names.append(name if name.isidentifier() and name not in names else f"input_{i}")
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=_annotation(t))
                              for name, t in zip(names, inputs)])


def _annotation(t: Type) -> str:
    if t.kind != "tensor" or t.dtype is None:
        return t.kind
    extents = "" if t.shape is None else ", ".join("?" if n < 0 else str(n) for n in t.shape)
    return f"{t.dtype}[{extents}]"


def _stream_number(stream: Any) -> int | None:
    """The cudaStream_t of a number, of an object with __cuda_stream__, of PyTorch's and of CuPy's streams."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if isinstance(number := getattr(stream, name, None), int):
            return number
    raise TypeError(f"{type(stream).__name__} is no stream of CUDA")


def open(path: str | os.PathLike[str], *, device: str | None = None, threads: int = 0,  # pylint: disable=redefined-builtin
         stream: Any = None, log: Callable[[str], Any] | None = None, loaded: Callable[[int], Any] | None = None,
         budget: int | None = None, by_path: bool = False, perf_map: bool = False) -> Model:
    """Open the library of a model; its constructors run, with the rights of this process.

    :param path: a shared library that TVM 0.8 to 0.27, tvm-ffi or mpack wrote
    :param device: "cpu", "cuda", "opencl:1": where the model runs; None: where its code is for
    :param threads: of parallel loops on the CPU; 0: one for each core
    :param stream: of CUDA, that calls are queued on: a number, torch.cuda.Stream, cupy.cuda.Stream, or whatever has
        __cuda_stream__. Calls then do not wait for their end, but for results in host memory; the model keeps the stream's
        number alone, so keep the stream. None: the default stream, and calls wait
    :param log: hears what the model prints (R.print), a text each time; None: nobody, and nothing is written
    :param loaded: hears how many bytes of weights were brought where they are wanted, each time that some were
    :param budget: bytes that the model's tensors may take, in host memory and on its device each: copied weights, caches,
        results, what calls work with. What needs more raises BudgetError. None: as much as there is
    :param by_path: open the file itself and no copy of it, so that debuggers and profilers name what runs
    :param perf_map: write names of code in memory to /tmp/perf-PID.map, where perf(1) looks for them
    :raises OSError: the file is missing; :raises Error: it is none that can be opened here
    """
    kind, _, number = (device or "").partition(":")
    if kind not in _DEVICES or (number and not (number.isascii() and number.isdigit() and len(number) < 6)):
        raise ValueError(f"a device is cpu, cuda, opencl or rocm, with a number after a colon, not '{device}'")
    return Model(path, (_DEVICES[kind], int(number or 0)), threads, _stream_number(stream), log, loaded, budget,
                 int(by_path) | int(perf_map) << 1)


@overload
def register(name: str) -> Callable[[_Called], _Called]: ...
@overload
def register(name: str, function: _Called) -> _Called: ...
def register(name: str, function: Any = None) -> Any:
    """Let models call a function of Python by name, what their file lacks: R.call_packed, R.call_dps_packed, T.call_packed.

        @mpk.register("my.op")
        def my_op(x, out):
            out[:] = numpy.sort(x)

    It gets arrays of NumPy (mpk.Tensor where NumPy was not imported or has none such), numbers, texts, shapes, mpk.Value and
    tuples of these. Arrays may be written to, as the last ones of a call_dps_packed are its results. What it returns is the
    result, what it raises is raised by the call of the model. It may be registered at any time, and replaces one of that name;
    Model.register is for one model alone. unregister takes it away.
    """
    if function is None:
        return lambda given: register(name, given)
    return _core.register(name, function)


def unregister(name: str) -> None:
    """Take a function of mpk.register away; afterwards it is not called any more. KeyError: there is none."""
    _core.register(name, None)


async def _call_async(function: Function, args: tuple[Any, ...]) -> Any:
    """A call in a thread of the executor, which is stopped when it is cancelled.

    Stopping ends whatever its session is at, so that no other call of it may be under way: the others wait here.
    """
    import asyncio  # pylint: disable=import-outside-toplevel

    loop = asyncio.get_running_loop()
    locks: dict[Any, asyncio.Lock] = function._session.setdefault("locks", {})  # pylint: disable=protected-access
    for old in [key for key in locks if key.is_closed()]:
        del locks[old]
    async with locks.setdefault(loop, asyncio.Lock()):
        work = loop.run_in_executor(None, function, *args)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            function.stop()
            try:
                while not work.done():
                    try:
                        await asyncio.wait({work})
                    except asyncio.CancelledError:
                        pass  # it ends soon
                if not work.cancelled():
                    work.exception()  # was looked at
            finally:
                function.resume()
            raise
