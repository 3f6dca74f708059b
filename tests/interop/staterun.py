# SPDX-License-Identifier: Apache-2.0
"""Calls in a row that share objects, made by TVM at once and by minspect as one case file."""
import numpy
import relaxrun
import tvm_ffi


class Kept(str):
    """An argument that an earlier call returned, by the name it was kept under."""


def leaves(value):
    """As relaxrun.leaves; None for what has no form as text."""
    if value is None or hasattr(value, "numpy") or isinstance(value, (int, float)):
        return [value.numpy() if hasattr(value, "numpy") else value]
    if type(value).__name__.startswith("Shape"):
        return [relaxrun.Shape(value)]
    if type(value).__name__ in ("Array", "list", "tuple"):
        return [leaf for item in value for leaf in leaves(item)]
    return [None]


class Story:
    """What happens to the caches of one library. Builtins are called by their names, as an engine does."""

    def __init__(self, folder, machine):
        self.folder, self.machine, self.objects = folder, machine, {}
        self.lines, self.count = [], 0

    def function(self, name):
        return tvm_ffi.get_global_func(name) if name.startswith("vm.") else self.machine[name]

    def to_tvm(self, value):
        if isinstance(value, Kept):
            return self.objects[value]
        if isinstance(value, (list, tuple)) and not isinstance(value, relaxrun.Shape):
            return [self.to_tvm(x) for x in value]
        return value if isinstance(value, str) else relaxrun.to_tvm(value)

    def to_text(self, value, stem):
        if isinstance(value, Kept):
            return f"${value}"
        if value is None:
            return "none"
        return f"str={value}" if isinstance(value, str) else relaxrun.to_text(value, self.folder, stem)

    def call(self, name, *inputs, keep=None, tolerance=0.0, out=()):
        """Call in TVM, and expect the same of minspect: results, or an error of any text.

        out: the numbers of arguments that the function changes, which are compared after the call.
        """
        self.count += 1
        tvm_inputs = [self.to_tvm(x) for x in inputs]
        try:
            result = self.function(name)(*tvm_inputs)
        except Exception as why:  # pylint: disable=broad-except
            self.put(name, inputs, out, ['raises = ":"'])
            return why
        if keep:
            self.objects[keep] = result
        results = [tvm_inputs[i].numpy() for i in out]
        if result is not None or not results:
            results += leaves(result)
        expect = ["ignored" if y is None else self.to_text(y, f"{self.count}-out{i}")
                  for i, y in enumerate(results)]
        lines = ["expect = [" + ", ".join(f'"{x}"' for x in expect) + "]",
                 f"atol = {tolerance:e}", f"rtol = {tolerance:e}"]
        self.put(name, inputs, out, lines + ([f'keep = "{keep}"'] if keep else []))
        return result

    def put(self, name, inputs, out, lines):
        args = [("out" if i in out else "input", self.to_text(x, f"{self.count}-in{i}"))
                for i, x in enumerate(inputs)]
        self.lines += ["[[case]]", f'name = "{self.count} {name}"', f'run = "{name}"',
                       "args = [" + ", ".join(f'{{ {k} = "{v}" }}' for k, v in args) + "]",
                       *lines, ""]

    def compare(self, minspect, library, *options):
        cases = self.folder / "cases.toml"
        cases.write_text("\n".join(self.lines))
        done = minspect("--cases", cases, library, *options)
        assert done.stdout.splitlines()[-1].startswith(f"{self.count} passed"), done.stdout


KV = "vm.builtin.kv_state_"
CACHE = "vm.builtin.attention_kv_cache_"


def shape(*extents):
    return relaxrun.Shape(extents)


def greedy(logits):
    return int(numpy.argmax(logits.numpy().reshape(-1, logits.shape[-1])[-1]))
