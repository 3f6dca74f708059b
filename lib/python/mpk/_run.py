# SPDX-License-Identifier: Apache-2.0
"""libmpk-run (mpk/run.h) by ctypes: models, functions, tensors.

Nothing here imports NumPy or PyTorch. Arguments are taken by the protocols that they have, and results come back as what
the first argument is, without a copy.
"""
from __future__ import annotations

import builtins
import ctypes as c
import numbers
import os
import re
import sys
import threading
from typing import Any, Callable, Iterator, Sequence

_DEVICES = {1: "cpu", 2: "cuda", 3: "cuda", 4: "opencl", 10: "rocm"}
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6, "c": 5}
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_RANK_MAX = 32


class _Tensor(c.Structure):
    """DLPack's DLTensor."""
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class _Result(c.Structure):
    """DLPack's DLManagedTensorVersioned."""


_Result._fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("ctx", c.c_void_p), ("deleter", c.c_void_p),
                    ("flags", c.c_uint64), ("tensor", _Tensor)]


class _Legacy(c.Structure):
    """DLPack's DLManagedTensor."""
    _fields_ = [("tensor", _Tensor), ("ctx", c.c_void_p), ("deleter", c.c_void_p)]


class _Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 1020)]


class _Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("device_type", c.c_int32), ("device_id", c.c_int32), ("threads", c.c_uint),
                ("flags", c.c_uint32)]


class _Launch(c.Structure):
    _fields_ = [("size", c.c_size_t), ("grid", c.c_uint64 * 3), ("block", c.c_uint64 * 3), ("shared_bytes", c.c_uint64)]


class _Type(c.Structure):
    _fields_ = [("kind", c.c_int), ("name", c.c_char_p), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("ndim", c.c_int32), ("shape", c.c_int64 * _RANK_MAX)]


class _Arg(c.Structure):
    _fields_ = [("tensor", c.POINTER(_Tensor)), ("value", c.c_void_p)]


_DELETER = c.CFUNCTYPE(None, c.c_void_p)
_HERE = os.path.dirname(os.path.abspath(__file__))


def _load() -> c.CDLL:
    lib = c.CDLL(os.path.join(_HERE, "libmpk-run.so.0"))
    lib.mpkr_version.restype = c.c_uint32
    lib.mpkr_function_count.restype = c.c_size_t
    lib.mpkr_value_count.restype = c.c_size_t
    lib.mpkr_function_name.restype = lib.mpkr_function_signature.restype = lib.mpkr_value_type.restype = c.c_char_p
    for name, types in {
            "open": [c.c_char_p, c.POINTER(_Options), c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "close": [c.c_void_p], "drop": [c.c_void_p],
            "bind_params": [c.c_void_p, c.c_char_p, c.POINTER(_Error)],
            "function_count": [c.c_void_p], "function_name": [c.c_void_p, c.c_size_t],
            "function_signature": [c.c_void_p, c.c_size_t],
            "find": [c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "find_kernel": [c.c_void_p, c.c_char_p, c.POINTER(_Launch), c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "session": [c.c_void_p, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "input": [c.c_void_p, c.c_size_t, c.POINTER(_Type)],
            "output": [c.c_void_p, c.c_size_t, c.POINTER(_Type)],
            "call": [c.c_void_p, c.POINTER(c.POINTER(_Tensor)), c.c_size_t, c.POINTER(c.c_void_p), c.c_size_t,
                     c.POINTER(c.c_size_t), c.POINTER(_Error)],
            "call_value": [c.c_void_p, c.POINTER(_Arg), c.c_size_t, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "value_make": [c.c_void_p, c.c_int, c.POINTER(_Tensor), c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "value_tuple": [c.c_void_p, c.POINTER(_Arg), c.c_size_t, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "value_item": [c.c_void_p, c.c_size_t, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "value_tensor": [c.c_void_p, c.c_int32, c.POINTER(c.c_void_p), c.POINTER(_Error)],
            "value_kind": [c.c_void_p], "value_type": [c.c_void_p], "value_count": [c.c_void_p],
            "value_drop": [c.c_void_p]}.items():
        getattr(lib, "mpkr_" + name).argtypes = types
    return lib


_lib = _load()
_api = c.pythonapi
_api.PyCapsule_New.restype = c.py_object
_api.PyCapsule_New.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]
_api.PyCapsule_GetPointer.restype = c.c_void_p
_api.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
_api.PyCapsule_IsValid.argtypes = [c.py_object, c.c_char_p]
# The destructor of a capsule is called when nobody may hold the capsule any more: by address alone.
_raw_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", _api))
_raw_pointer = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", _api))


# --- errors ---------------------------------------------------------------------------------------

class Error(RuntimeError):
    """What no exception of Python's own says: a file that is damaged, a device that is missing, a model that failed."""


_CODES: dict[int, type[Exception]] = {1: ValueError, 2: OSError, 5: KeyError, 9: MemoryError}


def _raise(error: _Error) -> None:
    text = error.text.decode("utf-8", "replace")
    if error.code == 8:  # "ValueError: ..." of the model's own code
        name, colon, rest = text.partition(": ")
        kind = getattr(builtins, name, None)
        if colon and isinstance(kind, type) and issubclass(kind, Exception):
            raise kind(rest)
    raise _CODES.get(error.code, Error)(text)


def _check(code: int, error: _Error) -> None:
    if code:
        _raise(error)


# --- results --------------------------------------------------------------------------------------

# What others were handed by DLPack, by the address of what they were handed.
_handed: dict[int, tuple[Any, ...]] = {}


def _take_back(address: int) -> None:
    _handed.pop(address, None)


def _unused(capsule: int, name: bytes) -> None:
    if _raw_is_valid(capsule, name):
        _handed.pop(_raw_pointer(capsule, name), None)


_give_back = _DELETER(_take_back)
_drop_legacy = _DELETER(lambda capsule: _unused(capsule, b"dltensor"))
_drop_versioned = _DELETER(lambda capsule: _unused(capsule, b"dltensor_versioned"))


class Tensor:
    """A result: memory of the library's own, by DLPack and by NumPy's array interface, without a copy.

    ``shape`` and ``dtype`` ("float32") tell what it is, ``device`` where ("cpu", 0). NumPy, PyTorch and others take it by
    ``from_dlpack``; ``numpy.asarray`` takes it as well. The memory lives as long as anything that was made of it.
    """

    def __init__(self, address: int) -> None:
        self._address = address
        self._tensor = _Result.from_address(address).tensor
        t = self._tensor
        self.shape: tuple[int, ...] = tuple(t.shape[:t.ndim])
        self.dtype: str = _dtype_name(t.code, t.bits, t.lanes)
        self.device: tuple[str, int] = (_DEVICES.get(t.device_type, str(t.device_type)), t.device_id)

    def __del__(self) -> None:
        if address := self.__dict__.pop("_address", None):
            _DELETER(_Result.from_address(address).deleter)(address)

    def __repr__(self) -> str:
        return f"<mpk.Tensor {self.dtype}{list(self.shape)} on {self.device[0]}>"

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("the memory of a result is handed over as it is")
        versioned = max_version is not None and max_version[0] >= 1
        made: Any = _Result(major=1, minor=0) if versioned else _Legacy()
        made.tensor = self._tensor
        made.deleter = c.cast(_give_back, c.c_void_p)
        _handed[c.addressof(made)] = (made, self)
        destructor, name = (_drop_versioned, b"dltensor_versioned") if versioned else (_drop_legacy, b"dltensor")
        return _api.PyCapsule_New(c.addressof(made), name, c.cast(destructor, c.c_void_p))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        t = self._tensor
        if self.device[0] != "cpu" or t.code not in _LETTERS or t.lanes != 1 or t.bits % 8:
            raise AttributeError(f"NumPy has no array of {self.dtype} on {self.device[0]}")
        return {"version": 3, "shape": self.shape, "typestr": f"{'|' if t.bits == 8 else '<'}{_LETTERS[t.code]}{t.bits // 8}",
                "data": (t.data or 0, False), "strides": None}


def _dtype_name(code: int, bits: int, lanes: int) -> str:
    name = "bool" if code == 6 else f"{_NAMES.get(code, f'code{code}_')}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"


# --- values ---------------------------------------------------------------------------------------

_NONE, _TUPLE, _OBJECT = 6, 7, 8  # enum mpkr_kind


class Value:
    """What has no form of its own in Python: a cache, a state, a tuple that stays where it is.

    ``type`` names it ("relax.vm.PagedAttentionKVCache"). It is passed to functions of the model that gave it, which may
    change it, and is given back with its last name.
    """

    def __init__(self, handle: c.c_void_p) -> None:
        self._handle = handle
        self.type: str = (_lib.mpkr_value_type(handle) or b"").decode()

    def __del__(self) -> None:
        if handle := self.__dict__.pop("_handle", None):
            _lib.mpkr_value_drop(handle)

    def __repr__(self) -> str:
        return f"<mpk.Value {self.type}>"


class Shape(tuple[int, ...]):
    """Extents, where a function takes a shape and its file does not say so, as builtins of TVM's machine do. Where the
    file says so, a tuple of integers will do."""


def shape(*extents: int) -> Shape:
    """A shape as an argument: ``model["vm.builtin.kv_state_begin_forward"](cache, mpk.shape(0), mpk.shape(64))``."""
    return Shape(extents)


def _value_leaves(handle: c.c_void_p, on_host: bool) -> Iterator[Tensor | Value]:
    """What is in a value, tuples one after the other; takes it over."""
    value, kind = Value(handle), _lib.mpkr_value_kind(handle)
    error, out = _Error(), c.c_void_p()
    if kind == _TUPLE:
        for i in range(_lib.mpkr_value_count(handle)):
            item = c.c_void_p()
            _check(_lib.mpkr_value_item(handle, i, c.byref(item), c.byref(error)), error)
            yield from _value_leaves(item, on_host)
    elif kind == _OBJECT:
        yield value
    elif kind != _NONE:
        _check(_lib.mpkr_value_tensor(handle, int(on_host), c.byref(out), c.byref(error)), error)
        if out.value:
            yield Tensor(out.value)


# --- arguments ------------------------------------------------------------------------------------

def _make(data: int, code: int, bits: int, shape: Sequence[int], strides: Sequence[int] | None, keep: Any) -> tuple[_Tensor, Any]:
    extents = (c.c_int64 * len(shape))(*shape)
    steps = (c.c_int64 * len(shape))(*strides) if strides is not None else None
    return _Tensor(data, 1, 0, len(shape), code, bits, 1, extents, steps, 0), keep


def _of_interface(value: Any, i: dict[str, Any]) -> tuple[_Tensor, Any]:
    order, kind, size = i["typestr"][0], i["typestr"][1], int(i["typestr"][2:])
    if kind not in _KINDS or (order == (">" if sys.byteorder == "little" else "<")):
        raise TypeError(f"an array of {i['typestr']} is nothing that a model takes")
    steps = i.get("strides")
    if steps is not None and any(s % size for s in steps):
        raise ValueError("an array whose elements lie between those of others")
    strides = [s // size for s in steps] if steps is not None else None
    return _make(i["data"][0], _KINDS[kind], size * 8, i["shape"], strides, value)


def _of_capsule(value: Any) -> tuple[_Tensor, Any]:
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than the argument
        capsule = value.__dlpack__()
    if _api.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        tensor = _Result.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")).tensor
    else:
        tensor = _Legacy.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor")).tensor
    return tensor, (value, capsule)


def _argument(value: Any) -> tuple[_Tensor, Any] | None:
    """A tensor, and what keeps its memory. None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        memory: Any = c.c_bool(value)
        return _make(c.addressof(memory), 6, 8, (), None, memory)
    if isinstance(value, int):
        memory = c.c_int64(value)
        return _make(c.addressof(memory), 0, 64, (), None, memory)
    if isinstance(value, float):
        memory = c.c_double(value)
        return _make(c.addressof(memory), 2, 64, (), None, memory)
    if isinstance(value, str):
        text = value.encode()
        memory = c.create_string_buffer(text, len(text) + 1)
        return _make(c.addressof(memory), 1, 8, (len(text),), None, memory)
    if isinstance(value, Shape):
        memory = (c.c_int64 * len(value))(*value)
        return _make(c.addressof(memory), 0, 64, (len(value),), None, memory)
    if (interface := getattr(value, "__array_interface__", None)) is not None:
        return _of_interface(value, interface)
    if hasattr(value, "__dlpack__"):
        return _of_capsule(value)
    raise TypeError(f"{type(value).__name__} is nothing that a model takes: pass an array, a number or a text")


def _arguments(values: Sequence[Any], make: Callable[[int, _Tensor], Value]) -> tuple[Any, list[Any]]:
    """What mpkr_call_value takes, and what keeps it. Numbers, texts and shapes become values, which are what they are
    also where the file does not say what it takes."""
    made, keep = (_Arg * len(values))(), []
    for i, value in enumerate(values):
        taken = None
        if not isinstance(value, Value) and (taken := _argument(value)) is not None:
            kind = 3 if isinstance(value, Shape) else 4 if isinstance(value, str) else 2 if isinstance(value, (int, float)) else 1
            if kind > 1:
                value, taken = make(kind, taken[0]), None
            else:
                made[i].tensor = c.pointer(taken[0])
        if isinstance(value, Value):
            made[i].value = value._handle
        keep.append((value, taken))
    return made, keep


def _add_leaves(values: Sequence[Any], kinds: list[str], leaves: list[Any]) -> None:
    """Add what is in tuples and lists, one after the other. Integers are a shape where the function takes one.

    :param kinds: of inputs; emptied at a value that stands for several of them, as then nobody knows which are next
    """
    for value in values:
        kind = kinds[len(leaves)] if len(leaves) < len(kinds) else "any"
        if not isinstance(value, (tuple, list)) or isinstance(value, Shape):
            if kind == "tensor" and isinstance(value, (str, int, float)):
                raise TypeError(f"input {len(leaves)} is a tensor: pass an array, not {type(value).__name__}")
            if isinstance(value, Value) and value.type == "array":
                kinds.clear()
            leaves.append(value)
        elif kind == "shape" and value and all(isinstance(v, numbers.Integral) for v in value):
            leaves.append(Shape(int(v) for v in value))
        else:
            _add_leaves(value, kinds, leaves)


def _like(values: Sequence[Any]) -> Callable[[Tensor], Any]:
    """How results are given: as the first array among the arguments is."""
    for value in values:
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return lambda t: numpy.asarray(t) if hasattr(t, "__array_interface__") else t
        if torch is not None and isinstance(value, torch.Tensor):
            return lambda t: torch.from_dlpack(t)
        if hasattr(value, "__dlpack__"):
            break
    return lambda t: t


def _extents(value: int | Sequence[int]) -> Any:
    values = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise ValueError("a launch has one to three extents of at least 1")
    return (c.c_uint64 * 3)(*values)


# --- models ---------------------------------------------------------------------------------------

class Type:
    """What an input or output is: ``kind`` ("tensor", "number", "shape", "text", "any", "other"), ``name``, ``dtype``
    ("float32", None: any) and ``shape`` (None: any; -1: an extent that is not known before the call)."""

    def __init__(self, t: _Type) -> None:
        self.kind: str = ("any", "tensor", "number", "shape", "text", "other")[t.kind] if t.kind < 6 else "other"
        self.name: str = t.name.decode() if t.name else ""
        self.dtype: str | None = _dtype_name(t.code, t.bits, t.lanes) if t.bits else None
        self.shape: tuple[int, ...] | None = tuple(t.shape[:t.ndim]) if t.ndim >= 0 else None

    def __repr__(self) -> str:
        return f"<mpk.Type {self.name or '-'}: {self.kind} {self.dtype} {self.shape}>"


class _Open:
    """A model that is open, until the last of its handle and its functions goes."""

    def __init__(self, handle: c.c_void_p) -> None:
        self.handle = handle

    def __del__(self) -> None:
        _lib.mpkr_close(self.handle)

    def make(self, kind: int, tensor: _Tensor) -> Value:
        made, error = c.c_void_p(), _Error()
        _check(_lib.mpkr_value_make(self.handle, kind, c.byref(tensor), c.byref(made), c.byref(error)), error)
        return Value(made)


class Function:
    """A function of a model; call it with arrays, numbers, texts, shapes, values, and tuples of these.

    Results are NumPy arrays or PyTorch tensors where the first array among the arguments is one, else
    :class:`Tensor`; a cache, a state and other objects are a :class:`Value`; several come as a tuple. Raises TypeError
    for a wrong number or kind of arguments, ValueError for a shape or element type that the function does not take, what
    the model raises, and :class:`Error`. Calls of functions of one model wait for each other: see :meth:`session`.
    """

    def __init__(self, handle: c.c_void_p, name: str, signature: str, model: _Open) -> None:
        self._handle = handle
        self._model = model
        self._kinds: list[str] = []
        self._tensors: list[str] | None = None
        self.name = name
        self.signature = signature
        self.__doc__ = signature

    def __del__(self) -> None:
        if handle := self.__dict__.pop("_handle", None):
            _lib.mpkr_drop(handle)

    def __repr__(self) -> str:
        return f"<mpk.Function {self.signature}>"

    def _types(self, ask: Any) -> list[Type]:
        found: list[Type] = []
        t = _Type()
        while ask(self._handle, len(found), c.byref(t)) == 0:
            found.append(Type(t))
        return found

    @property
    def inputs(self) -> list[Type]:
        """What the function takes; tuples count as what is in them. Empty where the file does not say."""
        return self._types(_lib.mpkr_input)

    @property
    def outputs(self) -> list[Type]:
        """What it gives, as far as the file says."""
        return self._types(_lib.mpkr_output)

    def session(self) -> Function:
        """The same function in a session of its own: code and weights are shared, calls run side by side."""
        made, error = c.c_void_p(), _Error()
        _check(_lib.mpkr_session(self._handle, c.byref(made), c.byref(error)), error)
        return Function(made, self.name, self.signature, self._model)

    def _call_plain(self, values: list[Any]) -> list[Tensor]:
        taken = [_argument(v) for v in values]
        pointers = (c.POINTER(_Tensor) * len(taken))()
        for i, t in enumerate(taken):
            if t:
                pointers[i] = c.pointer(t[0])
        room, count, error = len(self._tensors or ()), c.c_size_t(), _Error()
        results = (c.c_void_p * room)()
        code = _lib.mpkr_call(self._handle, pointers, len(taken), results, room, c.byref(count), c.byref(error))
        self._check_call(code, error)
        return [Tensor(address) for address in results[:count.value] if address]

    def _call_value(self, values: list[Any]) -> list[Tensor | Value]:
        given, keep = _arguments(values, self._model.make)
        out, error = c.c_void_p(), _Error()
        code = _lib.mpkr_call_value(self._handle, given, len(values), c.byref(out), c.byref(error))
        self._check_call(code, error)
        first = next((a.tensor.contents.device_type for a in given if a.tensor), 1)
        del keep
        return list(_value_leaves(out, first != 2))

    @staticmethod
    def _check_call(code: int, error: _Error) -> None:
        if code == 1 and re.search(rb"^\d+ inputs? for \d|takes \d+ inputs, not |^input .* takes .*, not [a-z]+$", error.text):
            raise TypeError(error.text.decode("utf-8", "replace"))
        _check(code, error)

    def __call__(self, *args: Any) -> Any:
        values: list[Any] = []
        if self._tensors is None:  # asked once: what it gives is tensors, as far as the file says, or anything
            self._kinds = ["any" if t.kind == "tensor" and not t.shape else t.kind for t in self.inputs]
            kinds = [t.kind for t in self.outputs]
            self._tensors = kinds if kinds and all(k == "tensor" for k in kinds) else []
        _add_leaves(args, list(self._kinds), values)
        made: Sequence[Tensor | Value]
        if self._tensors and not any(isinstance(v, (Value, Shape)) for v in values):
            made = self._call_plain(values)
        else:
            made = self._call_value(values)
        give = _like(values)
        given = tuple(give(m) if isinstance(m, Tensor) else m for m in made)
        return given[0] if len(given) == 1 else given or None


class Model:
    """A library that is open. Its functions are attributes and items: ``model.forward(x)``, ``model["forward"]``."""

    def __init__(self, path: str | os.PathLike[str], device: tuple[int, int] = (0, 0), threads: int = 0) -> None:
        self._functions: dict[str, Function] = {}
        self._lock = threading.Lock()
        if threads < 0:
            raise ValueError("threads is a number of at least 0")
        options, error = _Options(c.sizeof(_Options), device[0], device[1], threads, 0), _Error()
        handle = c.c_void_p()
        _check(_lib.mpkr_open(os.fsencode(path), c.byref(options), c.byref(handle), c.byref(error)), error)
        self._model = _Open(handle)
        self.path = os.fspath(path)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mpk.Model {self.path}>"

    def close(self) -> None:
        """Give the model back. Functions and results that are left stay good."""
        self._functions.clear()
        self.__dict__.pop("_model", None)

    def _opened(self) -> _Open:
        model: _Open | None = self.__dict__.get("_model")
        if model is None:
            raise ValueError("the model is closed")
        return model

    def _open(self) -> c.c_void_p:
        return self._opened().handle

    @property
    def functions(self) -> list[str]:
        """The names of what can be called: functions of models first, then host functions."""
        handle = self._open()
        return [(_lib.mpkr_function_name(handle, i) or b"").decode() for i in range(_lib.mpkr_function_count(handle))]

    def bind_params(self, path: str | os.PathLike[str]) -> None:
        """Give the model weights that its file has not: a .params file or tensor cache of TVM, safetensors, GGUF without
        quantized tensors, or an .npz file of numpy.savez. Before the first look-up."""
        error = _Error()
        _check(_lib.mpkr_bind_params(self._open(), os.fsencode(path), c.byref(error)), error)

    def tuple(self, items: Sequence[Any]) -> Value:
        """Arrays, numbers, texts, shapes and values as one argument; arrays are copied once. It is what a function takes that
        has all weights in one tuple: ``decode(hidden, cache, model.tuple(weights))``."""
        model = self._opened()
        given, keep = _arguments(items, model.make)
        made, error = c.c_void_p(), _Error()
        _check(_lib.mpkr_value_tuple(model.handle, given, len(items), c.byref(made), c.byref(error)), error)
        del keep
        return Value(made)

    def __getitem__(self, name: str) -> Function:
        handle = self._open()
        with self._lock:
            if name in self._functions:
                return self._functions[name]
            found, error = c.c_void_p(), _Error()
            _check(_lib.mpkr_find(handle, name.encode(), c.byref(found), c.byref(error)), error)
            names = self.functions
            signature = f"{name}(...)"
            if name in names:
                signature = (_lib.mpkr_function_signature(handle, names.index(name)) or signature.encode()).decode()
            return self._functions.setdefault(name, Function(found, name, signature, self._opened()))

    def kernel(self, name: str, *, grid: int | Sequence[int] = 1, block: int | Sequence[int] = 1, shared: int = 0) -> Function:
        """Device code of the file by itself, without the host code that launches it.

        It is called with what its own parameters take, and writes into the arrays that it is given. Nobody knows how much of
        them it touches: a launch that reaches beyond damages memory of the device.

        :param name: of the kernel, or "/0#name" for that of the module at a path of the file's tree
        :param grid: blocks along x, or x, y, z; :param block: threads of a block; :param shared: bytes of dynamic shared memory
        """
        found, error = c.c_void_p(), _Error()
        launch = _Launch(c.sizeof(_Launch), _extents(grid), _extents(block), shared)
        _check(_lib.mpkr_find_kernel(self._open(), name.encode(), c.byref(launch), c.byref(found), c.byref(error)), error)
        return Function(found, name, f"{name}(...)", self._opened())

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as why:
            raise AttributeError(*why.args) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


def open(path: str | os.PathLike[str], *, device: str | None = None, threads: int = 0) -> Model:  # pylint: disable=redefined-builtin
    """Open the library of a model; its constructors run, with the rights of this process.

    :param path: a shared library that TVM 0.8 to 0.27, tvm-ffi or mpack wrote
    :param device: "cpu", "cuda", "opencl:1": where the model runs; None: where its code is for
    :param threads: of parallel loops on the CPU; 0: one for each core
    :raises OSError: the file is missing; :raises Error: it is none that can be opened here
    """
    kind, _, number = (device or "").partition(":")
    kinds = {"": 0, "cpu": 1, "cuda": 2, "opencl": 4, "rocm": 10}
    if kind not in kinds or (number and not number.isdigit()):
        raise ValueError(f"a device is cpu, cuda, opencl or rocm, with a number after a colon, not '{device}'")
    return Model(path, (kinds[kind], int(number or 0)), threads)


def library_version() -> str:
    """The version of libmpk-run: "0.1.0"."""
    v = _lib.mpkr_version()
    return f"{v >> 16}.{v >> 8 & 255}.{v & 255}"
