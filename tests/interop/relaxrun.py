# SPDX-License-Identifier: Apache-2.0
"""Calls of a Relax model made by TVM's machine and by minspect, and what both say of its functions."""
import json
import re
import types

import numpy
import tvm
from tvm import relax

MODES = ["bytecode", "compiled"]


class Shape(tuple):
    """An argument that is a shape."""


# --- building ---------------------------------------------------------------------------------

def build(module, path, mode="bytecode", target="llvm"):
    """The library at path, and TVM's machine for it."""
    executable = relax.build(module, target=target, exec_mode=mode)
    executable.export_library(str(path))
    return relax.VirtualMachine(executable, tvm.cpu())


# --- values -----------------------------------------------------------------------------------

def to_tvm(value):
    if isinstance(value, Shape):
        return tvm.runtime.ShapeTuple(list(value)) if hasattr(tvm.runtime, "ShapeTuple") else \
            tvm.runtime.Shape(list(value))
    if isinstance(value, (tuple, list)):
        return [to_tvm(x) for x in value]
    if not isinstance(value, numpy.ndarray):
        return value
    made = tvm.runtime.empty(value.shape, str(value.dtype))
    return made.copyfrom(value)


def leaves(value):
    """The results as minspect prints them: tuples flattened, shapes as Shape."""
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, (int, float)):
        return [value]
    if type(value).__name__.startswith("Shape"):
        return [Shape(value)]
    return [leaf for item in value for leaf in leaves(item)]


def to_text(value, folder, name):
    """A value as minspect takes it; elements are in files, which hold every bit of them."""
    if isinstance(value, Shape):
        return "shape=" + ",".join(map(str, value))
    if isinstance(value, (tuple, list)):
        return "(" + "; ".join(to_text(x, folder, f"{name}-{i}") for i, x in enumerate(value)) + ")"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, numpy.ndarray):
        return f"i64={value}" if isinstance(value, int) else f"f64={value!r}"
    if value.dtype.kind != "V":  # what NumPy itself knows
        numpy.save(folder / f"{name}.npy", value)
        return f"@{name}.npy"
    (folder / f"{name}.bin").write_bytes(value.tobytes())
    shape = "x".join(map(str, value.shape)) + "x" if value.shape else "[]"
    return f"{shape}{value.dtype}=@{name}.bin"


# --- calls ------------------------------------------------------------------------------------

class Calls:
    """Calls of one library: expected from TVM's machine at once, made by minspect together."""

    def __init__(self, folder, machine):
        self.folder, self.machine, self.lines, self.count = folder, machine, [], 0

    def add(self, function, inputs, tolerance=0.0, tag=""):
        """Make a call in TVM; as byte code, recorded and as a plan it must give the same."""
        results = leaves(self.machine[function](*[to_tvm(x) for x in inputs]))
        self.expect(function, inputs, results, tolerance, tag)
        return results

    def expect(self, function, inputs, results, tolerance=0.0, tag=""):
        self.count += 1
        stem = f"{self.count}"
        args = [to_text(x, self.folder, f"{stem}-in{i}") for i, x in enumerate(inputs)]
        outs = [to_text(y, self.folder, f"{stem}-out{i}") for i, y in enumerate(results)]
        for repeat in (1, 4):
            self.lines += [
                "[[case]]", f'name = "{stem} {function} {tag} times {repeat}"',
                f'run = "{function}"', f"repeat = {repeat}",
                "args = [" + ", ".join(f'{{ input = "{a}" }}' for a in args) + "]",
                "expect = [" + ", ".join(f'"{o}"' for o in outs) + "]",
                f"atol = {tolerance:e}", f"rtol = {tolerance:e}", ""]

    def compare(self, minspect, library, *options):
        cases = self.folder / "cases.toml"
        cases.write_text("\n".join(self.lines))
        done = minspect("--cases", cases, library, *options)
        assert done.stdout.splitlines()[-1].startswith(f"{2 * self.count} passed"), done.stdout


# --- signatures -------------------------------------------------------------------------------

def type_of(expr):
    """The type of a Relax expression, which TVM 0.25 calls its structure info."""
    return expr.struct_info if hasattr(expr, "struct_info") else expr.ty


def return_type(function):
    return function.ret_struct_info if hasattr(function, "ret_struct_info") else function.ret_ty


def extent_json(extent):
    """TVM prints 4 as T.int64(4) in some places."""
    if isinstance(extent, (int, tvm.tirx.IntImm)):
        return int(extent)
    return re.sub(r"T\.int(?:64|32)\((-?\d+)\)", r"\1", str(extent))


def dtype_json(dtype):
    text = str(dtype or "")
    return text if text not in ("", "void", "handle") else None


def shape_json(t):
    values = t.values if hasattr(t, "values") else t.shape
    if values is not None:
        return [extent_json(e) for e in values]
    return None if t.ndim < 0 else ["?"] * t.ndim


def param_json(name, t):
    """A parameter as minspect --functions --json has it."""
    kind = type(t).__name__.replace("StructInfo", "Type")
    made = {"name": name, "kind": "any", "dtype": None, "shape": None}
    if kind == "TensorType":
        dtype = t.dtype if isinstance(t.dtype, str) or t.dtype is None else getattr(
            t.dtype, "dtype", t.dtype)
        made.update(kind="tensor", dtype=dtype_json(dtype), shape=shape_json(t))
    elif kind == "ShapeType":
        made.update(kind="shape", shape=shape_json(t))
    elif kind == "PrimType":
        made.update(kind="scalar", dtype=dtype_json(t.dtype))
    elif kind == "TupleType":
        made.update(kind="tuple", fields=[param_json("", f) for f in t.fields])
    elif kind == "FuncType":
        made.update(kind="function")
    return made


def signature_json(function):
    """(inputs, outputs): a result that is a tuple is several."""
    inputs = [param_json(getattr(p, "name_hint", None) or p.name, type_of(p))
              for p in function.params]
    result = param_json("", return_type(function))
    return inputs, result["fields"] if result["kind"] == "tuple" else [result]


def signatures_in(minspect, library):
    """{name: (inputs, outputs)} of the models in a library, as minspect reads them."""
    (file,) = json.loads(minspect("--functions", "--json", library).stdout)["files"]
    return {m["name"]: (m["inputs"], m["outputs"]) for m in file["models"]}


def canonical(params):
    """Expressions by what they are worth: TVM writes m + n + m as it was built, or simplified."""
    primes = iter((101, 103, 107, 109, 113, 127, 131, 137))
    values = {}

    def extent(e):
        if isinstance(e, int) or e.isidentifier() or e == "?":
            return e
        names = sorted(set(re.findall(r"(?<!\.)\b[A-Za-z_]\w*", e)) - {"T"})
        for name in names:
            values.setdefault(name, next(primes))
        functions = types.SimpleNamespace(max=max, min=min)
        return names, eval(e, {"T": functions}, values)  # pylint: disable=eval-used

    def param(p):
        made = dict(p, shape=p["shape"] and [extent(e) for e in p["shape"]])
        if "fields" in p:
            made["fields"] = [param(f) for f in p["fields"]]
        return made

    return [param(p) for p in params]


def follows(found, wanted):
    """Whether all that is said of results is right, though something is not known of them."""
    return found is None or len(found) == len(wanted) and all(
        f["kind"] == "any" or f["kind"] == w["kind"] and f["dtype"] in (None, w["dtype"]) and
        ("fields" not in f or follows(f["fields"], w["fields"])) and
        (not f["shape"] or canonical([dict(f)])[0]["shape"] == canonical([dict(w)])[0]["shape"])
        for f, w in zip(found, wanted))


def compare_signatures(minspect, library, module, mode):
    """What minspect reads out of the library is what the Relax functions say.

    Two things are not in a file: weights of relax.frontend.nn are not checked by byte code, so that their types are those
    of the kernels that take them, or unknown, and of a compiled function with branches only the texts of its checks are
    read: nothing is known of what it returns, nor of what others make of that.
    """
    found, text = signatures_in(minspect, library), library.read_bytes()
    names = [v.name_hint for v, f in module.functions.items() if isinstance(f, relax.Function)]
    assert names and set(names) <= set(found)
    branching = {name for name in names if "if " in str(module[name])}
    for name in names:
        function = module[name]
        inputs, outputs = signature_json(function)
        checked = int((function.attrs or {}).get("num_input", len(inputs)))
        given, wanted = canonical(found[name][0]), canonical(inputs)
        for i, (g, w) in enumerate(zip(given, wanted)):
            unknown = {"name": w["name"], "kind": "any", "dtype": None, "shape": None}
            assert g == w or i >= checked and g == unknown, (name, g, w)
        assert len(given) == len(wanted), name
        is_checked = f"fn={name}, loc=return".encode() in text
        if mode == "compiled" and not is_checked and name in branching:
            assert found[name][1] is None, name
        elif mode == "compiled" and not is_checked and branching & set(re.findall(r"\w+", str(function))):
            assert follows(found[name][1], outputs), (name, found[name][1])
        else:
            assert canonical(found[name][1]) == canonical(outputs), name
