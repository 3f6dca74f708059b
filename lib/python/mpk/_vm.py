# SPDX-License-Identifier: Apache-2.0
"""What tvm.relax.VirtualMachine is, over libmpk-run: scripts and tests written for it run by changing one import."""
from __future__ import annotations

import importlib
import mmap
import os
import re
import statistics
import sys
import tempfile
import time
from numbers import Integral, Number
from typing import Any, Callable, Iterable

from . import _run, _tools
from ._core import Error, Event, Function, Model, Shape, Tensor, Value

_DEVICE_NAMES = {1: "cpu", 2: "cuda", 4: "opencl", 10: "rocm"}


class BenchmarkResult:
    """Seconds of each repeat, as tvm.runtime.module.BenchmarkResult has them."""

    def __init__(self, results: Iterable[float]) -> None:
        self.results = tuple(results)
        self.mean = statistics.fmean(self.results)
        self.std = statistics.pstdev(self.results)
        self.median = statistics.median(self.results)
        self.min, self.max = min(self.results), max(self.results)

    def __repr__(self) -> str:
        return f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std})"


def _tvm(name: str) -> Any:
    return sys.modules.get(name)


def _device_name(device: Any) -> str | None:
    """Of a device of TVM, a name, or DLPack's numbers; of several the first is where the model runs."""
    if isinstance(device, list) or (isinstance(device, tuple) and not all(isinstance(d, int) for d in device)):
        device = device[0]
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, tuple):
        kind, number = device
    else:
        kind, number = device.dlpack_device_type(), device.index
    if kind not in _DEVICE_NAMES:
        raise ValueError(f"a device is cpu, cuda, opencl or rocm, not {device}")
    return f"{_DEVICE_NAMES[kind]}:{number}"


def _say(text: str) -> None:
    """What a model prints, where TVM prints it."""
    print(text)


def _open(executable: Any, device: Any) -> Model:
    if isinstance(executable, Model):
        return executable
    if isinstance(executable, (str, os.PathLike)):
        return _run.open(executable, device=_device_name(device), log=_say)
    module = getattr(executable, "mod", executable)  # of tvm.runtime.Executable
    if not hasattr(module, "export_library"):
        raise ValueError(f"a path, an mpk.Model or an executable of TVM is run, not {type(executable).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        if any(m.kind == "library" for m in module.imports):
            return _run.open(_loaded_from(module, folder), device=_device_name(device), log=_say)
        path = os.path.join(folder, "executable.so")
        if list(module.imports):
            executable.export_library(path)
        else:  # of no host code TVM makes no library
            payload = os.path.join(folder, "devc.mpack.blob")
            with open(payload, "wb") as f:
                pack = importlib.import_module("tvm_ffi").get_global_func("runtime.ModulePackImportsToTensor")
                f.write(importlib.import_module("numpy").from_dlpack(pack(module)).tobytes())
            _tools.run("mpack", ["build", payload, "-o", path])
        return _run.open(path, device=_device_name(device), log=_say)


def _loaded_from(module: Any, folder: str) -> str:
    """The file of a library that TVM has loaded, which it does not tell: the one in this process with the module's bytes."""
    path = os.path.join(folder, "module")
    module.write_to_file(path)
    with open(path, "rb") as f:
        data = f.read()
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        mapped = dict.fromkeys(line.rstrip("\n").split(None, 5)[-1] for line in maps if ".so" in line)
    for name in mapped:  # what was loaded last comes first, mostly
        if os.path.isfile(name):
            with open(name, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find(data) >= 0:
                    return name
    raise ValueError("TVM has loaded the library from a file that is gone: pass the path of a library")


class CallError(ValueError, RuntimeError):
    """A call that cannot be made, which TVM raises by either name."""


def _call_error(text: str) -> CallError:
    """With TVM's words for what differs."""
    found = re.search(r"takes (\w+)\[([^]]*)\].*, not (\w+)\[([^]]*)\]$", text)
    if found and found[1] != found[3]:
        text += ": another dtype"
    elif found and found[2] != "..." and found[2].count(",") != found[4].count(","):
        text += ": another ndim"
    elif re.search(r"expected \d+ dimensions", text):
        text += ": another ndim"
    return CallError(text)


class _Library:
    """The functions of a model's library, also those that are no model's."""

    def __init__(self, machine: VirtualMachine) -> None:
        self._machine = machine

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        del query_imports
        return name in self._machine.model.functions

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        if not self.implements_function(name, query_imports):
            raise AttributeError(f"Module has no function '{name}'")
        return self._machine._callable(name)  # pylint: disable=protected-access

    __getitem__ = get_function


class VirtualMachine:
    """The interface of tvm.relax.VirtualMachine.

    :param rt_mod: a path, an mpk.Model, or what tvm.compile gave, which is exported and opened again
    :param device: of TVM, "cuda:0", or a list of which the first counts
    :param memory_cfg: taken and not used: memory is pooled
    :param profile: taken and not used: profile() is always there

    Results are tensors of TVM where rt_mod or an argument is TVM's, else mpk.Tensor, in tuples as the model has them. Functions that a
    model calls and its file lacks are those of mpk.register, else those of TVM's own registry.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, rt_mod: Any, device: Any = None, memory_cfg: Any = None, profile: bool = False) -> None:
        if isinstance(memory_cfg, str) and memory_cfg not in ("naive", "pooled"):
            raise ValueError(f"memory_cfg is naive or pooled, not {memory_cfg}")
        if memory_cfg is not None and not isinstance(memory_cfg, (str, dict)):
            raise TypeError(f"memory_cfg is a text or a dict, not {type(memory_cfg).__name__}")
        del profile
        self.model = _open(rt_mod, device)
        self._saved: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, list[Any]] = {}
        self._outputs: dict[str, Any] = {}
        self._own = set(self.model.functions)
        self._gives_tvm = _tvm("tvm_ffi") is not None and not isinstance(rt_mod, (str, os.PathLike, Model))
        self._aside: dict[str, Function] = {}

    @property
    def module(self) -> VirtualMachine:
        """What has functions by name."""
        return self

    @property
    def imports(self) -> list[Any]:
        """The library with the kernels, whose functions are asked for by get_function, as TVM's has it."""
        return [_Library(self)]

    # --- calls --------------------------------------------------------------------------------------

    def _find(self, name: str) -> Function:
        """A function; what it calls and its file has not comes from TVM."""
        while True:
            try:
                return self.model[name]
            except Error as why:
                if not self._take_from_tvm(str(why)):
                    raise

    def _take_from_tvm(self, text: str) -> bool:
        """Whether an error was about functions that are in TVM's registry, which the model then has."""
        found = re.search(r"neither the library nor this program has: (.*)$|(?:the code calls|nobody has the function) '([^']+)'", text)
        ffi = _tvm("tvm_ffi")
        if not found or ffi is None:
            return False
        taken = False
        for name in (found[1] or found[2]).split(", "):
            function = ffi.get_global_func(name, allow_missing=True)
            if function is not None:
                self.model.register(name, _bridge(function))
                taken = True
        return taken

    def _call(self, name: str, args: Iterable[Any]) -> Any:
        given = [_taken(a) for a in args]
        while True:
            function = self._find(name)
            try:
                result = function.call_whole(*given)
                break
            except Error as why:
                if not self._take_from_tvm(str(why)):
                    raise
            except ValueError as why:
                if type(why) is not ValueError:  # pylint: disable=unidiomatic-typecheck
                    raise
                raise _call_error(str(why)) from why
        return _given(result, self._gives_tvm or _has_tvm(args))

    def __getitem__(self, name: str) -> Callable[..., Any]:
        special: dict[str, Callable[..., Any]] = {
            "invoke_closure": self.invoke_closure, "save_function": self._save_function, "set_input": self._set_input,
            "invoke_stateful": self.invoke_stateful, "get_output": self._get_output,
            "get_output_arity": self._get_output_arity, "get_function_arity": self._get_function_arity,
            "get_function_param_name": self._get_function_param_name, "set_instrument": self.set_instrument}
        if name in special:
            return special[name]
        if name in self._saved:
            return self._saved[name]
        try:
            self._find(name)
        except KeyError as why:
            raise AttributeError(*why.args) from None

        def call(*args: Any) -> Any:
            if name in self._inputs:
                raise CallError(f"'{name}' has inputs that set_input gave: call it by invoke_stateful")
            return self._call(name, args)

        call.__name__ = call.__qualname__ = name
        return call

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        """Call what a function gave that is a function itself."""
        return self._call("vm.builtin.invoke_closure", (closure, *args))

    # --- arguments by name, and kept -------------------------------------------------------------------

    def _parameters(self, name: str) -> list[str]:
        return [t.name for t in self._find(name).inputs]

    def _get_function_arity(self, name: str) -> int:
        return len(self._parameters(name))

    def _get_function_param_name(self, name: str, index: int) -> str:
        return self._parameters(name)[index]

    def _ordered(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """Arguments in the order of the parameters; the names that it has not are left aside, and said."""
        if not named:
            return list(args)
        parameters = self._parameters(name)
        rest = iter(args)
        for unused in sorted(set(named) - set(parameters)):
            print(f'Warning: Keyword argument "{unused}" is unused in {name}')
        if len(args) + len(set(named) & set(parameters)) != len(parameters):
            raise TypeError(f"'{name}' takes {len(parameters)} arguments: {', '.join(parameters)}")
        return [named[p] if p in named else next(rest) for p in parameters]

    def save_function(self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any) -> None:
        """Keep a function with its arguments as another one, which takes none."""
        self._save_function(func_name, saved_name, int(include_return), *self._ordered(func_name, args, kwargs))

    def _save_function(self, func_name: str, saved_name: str, include_return: int, *args: Any) -> None:
        if saved_name in self._own:
            raise ValueError(f"'{saved_name}' is a function of the model itself")
        self._find(func_name)
        given = [_converted(a) for a in args]

        def saved() -> Any:
            result = self._call(func_name, given)
            return result if include_return else None

        self._saved[saved_name] = saved

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the function for invoke_stateful. ValueError, TypeError: it does not take these."""
        self._set_input(func_name, *self._ordered(func_name, args, kwargs))

    def _set_input(self, func_name: str, *args: Any) -> None:
        takes = len(self._find(func_name).inputs)
        given = [_converted(a) for a in args]
        if takes and _count(given) != takes:
            raise ValueError(f"{_count(given)} inputs for {takes} of '{func_name}'")
        self._inputs[func_name] = given
        self._outputs.pop(func_name, None)

    def invoke_stateful(self, func_name: str) -> None:
        """Call the function with what set_input gave."""
        if func_name not in self._inputs:
            raise CallError(f"'{func_name}' has no inputs: call set_input first")
        self._outputs[func_name] = self._call(func_name, self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """What invoke_stateful got."""
        if func_name not in self._outputs:
            raise CallError(f"'{func_name}' has no outputs: call invoke_stateful first")
        return self._outputs[func_name]

    def _get_output(self, func_name: str, *path: int) -> Any:
        result = self.get_outputs(func_name)
        for index in path:
            result = result[index]
        return result

    def _get_output_arity(self, func_name: str, *path: int) -> int:
        result = self._get_output(func_name, *path)
        return len(result) if isinstance(result, tuple) and not isinstance(result, Shape) else -1

    # --- watched ---------------------------------------------------------------------------------------

    def set_instrument(self, instrument: Any) -> None:
        """Let instrument(func, name, before_run, ret_value, *args) see each call instruction; None: nobody does.

        Arguments and results are copies. If it returns 1 (VMInstrumentReturnKind.SKIP_RUN) before a kernel of byte code, that is
        not called. Of compiled functions each is one call.
        """
        if instrument is None:
            self.model.watch(None)
            return

        def watch(event: Event) -> int:
            args = tuple(_as_tvm(a) for a in event.args or ())
            result = _as_tvm(event.result) if event.is_end else None
            kind = instrument(self._callable(event.name), event.name, not event.is_end, result, *args)
            return 2 if kind == 1 and not event.is_end else 0

        self.model.watch(watch, values=True)

    def _callable(self, name: str) -> Callable[..., Any]:
        """A function that may be called while the model calls: in a session of its own."""
        def call(*args: Any) -> Any:
            if name not in self._aside:
                self._aside[name] = self._find(name).session()
            return _given(self._aside[name].call_whole(*(_taken(a) for a in args)), self._gives_tvm or _has_tvm(args))

        return call

    # --- time ------------------------------------------------------------------------------------------

    def time_evaluator(self, func_name: str, dev: Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0,
                       cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
                       f_preproc: Any = "") -> Callable[..., BenchmarkResult]:
        """What times a function, as tvm.runtime.Module.time_evaluator does: once to warm up, then repeat times number calls,
        or as many as take min_repeat_ms."""
        del dev
        function = self[func_name]
        before = getattr(_tvm("tvm_ffi"), "get_global_func", lambda _: None)(f_preproc) if f_preproc else None

        def timed(count: int, args: tuple[Any, ...]) -> float:
            start = time.perf_counter()
            for _ in range(count):
                function(*args)
            return time.perf_counter() - start

        def evaluate(*args: Any) -> BenchmarkResult:
            function(*args)
            results, count = [], max(1, number)
            for i in range(max(1, repeat)):
                if before is not None:
                    before(*args)
                took = timed(count, args)
                while took * 1000 < min_repeat_ms:
                    count = max(count + 1, int(min(count * 10, count * min_repeat_ms / max(took * 1000, 1e-6) * 1.2)))
                    took = timed(count, args)
                results.append(took / count)
                if cooldown_interval_ms and (i + 1) % max(1, repeats_to_cooldown) == 0:
                    time.sleep(cooldown_interval_ms / 1000)
            return BenchmarkResult(results)

        return evaluate


# --- what TVM has, and what is here ------------------------------------------------------------------------


def _has_tvm(args: Iterable[Any]) -> bool:
    ffi = _tvm("tvm_ffi")
    kinds = tuple(k for k in (getattr(ffi, "Tensor", None), getattr(ffi, "Shape", None)) if isinstance(k, type))

    def has(value: Any) -> bool:
        return isinstance(value, kinds) or (isinstance(value, (list, tuple)) and any(has(v) for v in value))

    return bool(kinds) and any(has(a) for a in args)


def _taken(value: Any) -> Any:
    """An argument as a function of a model takes it."""
    ffi = _tvm("tvm_ffi")
    if ffi is not None:
        if isinstance(value, ffi.Shape):
            return Shape(value)
        if isinstance(value, getattr(ffi, "Array", ())):
            value = tuple(value)
    if isinstance(value, (tuple, list)) and not isinstance(value, Shape):
        return tuple(_taken(v) for v in value)
    if callable(value) and not isinstance(value, (Function, Value)):
        return _bridge(value)
    return value


def _converted(value: Any) -> Any:
    """An argument that set_input and save_function keep: arrays are copied, numbers are tensors, as TVM has it."""
    import numpy  # pylint: disable=import-outside-toplevel

    if isinstance(value, numpy.ndarray):
        return value.copy()
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return tuple(_converted(v) for v in value)
    if isinstance(value, (Number, numpy.generic)) and not isinstance(value, str):
        kind = "float16" if isinstance(value, numpy.float16) else "int32" if isinstance(value, (Integral, bool)) else "float32"
        return numpy.array(value, kind)
    return value


def _count(values: Iterable[Any]) -> int:
    return sum(_count(v) if isinstance(v, tuple) and not isinstance(v, Shape) else 1 for v in values)


def _given(value: Any, as_tvm: bool) -> Any:
    """A result, as a caller has it who passed tensors of TVM, or none."""
    if isinstance(value, Shape):
        return _tvm("tvm_ffi").Shape(value) if as_tvm else value
    if isinstance(value, tuple):
        return tuple(_given(v, as_tvm) for v in value)
    if as_tvm and isinstance(value, Tensor):
        return _to_tvm(value)
    return value


def _to_tvm(value: Any) -> Any:
    runtime = _tvm("tvm.runtime")
    return getattr(runtime, "from_dlpack", _tvm("tvm_ffi").from_dlpack)(value)


def _as_tvm(value: Any) -> Any:
    """What a model passes, as TVM has it where TVM is there; tensors are the same memory."""
    if _tvm("tvm_ffi") is None:
        return value
    if isinstance(value, Shape):
        return _tvm("tvm_ffi").Shape(value)
    if isinstance(value, tuple):
        return tuple(_as_tvm(v) for v in value)
    if isinstance(value, Value) or not hasattr(value, "__dlpack__"):
        return value
    return _to_tvm(value)


def _bridge(function: Any) -> Callable[..., Any]:
    """A function of TVM's registry as one that a model here may call; tensors are the same memory."""

    def call(*args: Any) -> Any:
        return _taken(function(*(_as_tvm(a) for a in args)))

    return call
