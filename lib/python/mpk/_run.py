# SPDX-License-Identifier: Apache-2.0
"""Models, functions, tensors: what the extension module has, and what is easier said in Python.

Nothing here imports NumPy or PyTorch. Arguments are taken by the protocols that they have, and results come back as what
the first argument is, without a copy.
"""
from __future__ import annotations

import inspect
import os
import re
from typing import Any

from ._core import Error, Function, Model, Shape, Tensor, Type, Value, library_version, shape

__all__ = ["Error", "Function", "Model", "Shape", "Tensor", "Type", "Value", "library_version", "open", "shape"]

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
         stream: Any = None) -> Model:
    """Open the library of a model; its constructors run, with the rights of this process.

    :param path: a shared library that TVM 0.8 to 0.27, tvm-ffi or mpack wrote
    :param device: "cpu", "cuda", "opencl:1": where the model runs; None: where its code is for
    :param threads: of parallel loops on the CPU; 0: one for each core
    :param stream: of CUDA, that calls are queued on: a number, torch.cuda.Stream, cupy.cuda.Stream, or whatever has
        __cuda_stream__. Calls then do not wait for their end, but for results in host memory; the model keeps the stream's
        number alone, so keep the stream. None: the default stream, and calls wait
    :raises OSError: the file is missing; :raises Error: it is none that can be opened here
    """
    kind, _, number = (device or "").partition(":")
    if kind not in _DEVICES or (number and not (number.isascii() and number.isdigit() and len(number) < 6)):
        raise ValueError(f"a device is cpu, cuda, opencl or rocm, with a number after a colon, not '{device}'")
    return Model(path, (_DEVICES[kind], int(number or 0)), threads, _stream_number(stream))
