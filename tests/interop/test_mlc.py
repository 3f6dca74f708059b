# SPDX-License-Identifier: Apache-2.0
"""Libraries as MLC-LLM makes them give TVM's logits and tokens, by minspect and by libmpk-run; their metadata is listed.

MPK_MLC_LARGE=1 adds a model with 50 MB of weights.
"""
import json
import os

import mlcmodels
import numpy
import pytest
import relaxrun
from staterun import KV, Kept, Story, greedy, shape

LARGE = ["large"] if "MPK_MLC_LARGE" in os.environ else []
MODELS = {
    "q4f32_1": mlcmodels.Config(),
    "q4f16_1": mlcmodels.Config(quantization="q4f16_1"),
    "q0f32": mlcmodels.Config(quantization="q0f32"),
    "large": mlcmodels.LARGE,
}
SIZES = [shape(4), shape(512), shape(128), shape(16), shape(0)]


class Weights(list):
    """What minspect is given by --params; TVM is given it in each call."""


class Engine(Story):
    """A story whose weights are in a file."""

    def __init__(self, folder, machine, weights, tolerance):
        super().__init__(folder, machine)
        self.weights, self.tolerance = Weights(relaxrun.to_tvm(w) for w in weights), tolerance
        numpy.savez(folder / "weights.npz", **{f"param_{i}": w for i, w in enumerate(weights)})
        self.call("create_paged_kv_cache", *SIZES, keep="cache")

    def to_tvm(self, value):
        return list(value) if isinstance(value, Weights) else super().to_tvm(value)

    def put(self, name, inputs, out, lines):
        super().put(name, [x for x in inputs if not isinstance(x, Weights)], out, lines)

    def forward(self, function, ids, tokens, lengths):
        self.call(KV + "begin_forward", Kept("cache"), shape(*ids), shape(*lengths))
        hidden = self.call("embed", numpy.asarray(tokens, "int32"), self.weights, tolerance=self.tolerance).numpy()
        count, width = hidden.shape
        inputs = [hidden.reshape((count, 1, width) if function == "batch_decode" else (1, count, width))]
        if function == "batch_prefill":
            inputs.append((numpy.cumsum(lengths) - 1).astype("int32"))
        logits, _ = self.call(function, *inputs, Kept("cache"), self.weights, tolerance=self.tolerance)
        self.call(KV + "end_forward", Kept("cache"))
        return logits

    def check(self, minspect, library):
        self.compare(minspect, library, "--params", self.folder / "weights.npz")


@pytest.fixture(scope="module", name="built")
def libraries(tmp_path_factory):
    """Each library once: machine, path, weights, names."""
    made = {}

    def build(name, mode):
        if (name, mode) not in made:
            module, names, weights = mlcmodels.llama(numpy.random.default_rng(5), MODELS[name])
            path = tmp_path_factory.mktemp("mlc") / f"{name}.so"
            made[name, mode] = relaxrun.build(module, path, mode), path, weights, names
        return made[name, mode]
    return build


def prompt_of(name, count=64):
    return numpy.random.default_rng(2).integers(0, MODELS[name].vocabulary, count).astype("int32")


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("name", ["q4f32_1", "q4f16_1", "q0f32", *LARGE])
def test_one_sequence(name, mode, built, minspect, tmp_path):
    """64 tokens at once, then 32, each the likeliest."""
    machine, library, weights, _ = built(name, mode)
    engine = Engine(tmp_path, machine, weights, 2e-2 if "f16" in MODELS[name].quantization else 1e-4)
    engine.call(KV + "add_sequence", Kept("cache"), 0)
    logits = engine.forward("prefill", [0], prompt_of(name), [64])
    for _ in range(32):
        logits = engine.forward("decode", [0], [greedy(logits)], [1])
    engine.check(minspect, library)


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("name", ["q4f32_1", *LARGE])
def test_batch_of_three_with_forks(name, mode, built, minspect, tmp_path):
    machine, library, weights, _ = built(name, mode)
    engine = Engine(tmp_path, machine, weights, 1e-4)
    engine.call(KV + "add_sequence", Kept("cache"), 0)
    engine.forward("prefill", [0], prompt_of(name), [64])
    engine.call(KV + "fork_sequence", Kept("cache"), 0, 1, 40)
    engine.call(KV + "fork_sequence", Kept("cache"), 0, 2, -1)
    tokens = prompt_of(name, 9)
    logits = engine.forward("batch_prefill", [0, 1, 2], tokens, [2, 4, 3])
    likely = [int(t) for t in logits.numpy()[0].argmax(-1)]
    for _ in range(16):
        logits = engine.forward("batch_decode", [0, 1, 2], likely, [1, 1, 1])
        likely = [int(t) for t in logits.numpy()[:, 0].argmax(-1)]
    engine.call(KV + "popn", Kept("cache"), 2, 5)
    engine.call(KV + "remove_sequence", Kept("cache"), 0)
    engine.forward("batch_decode", [2, 1], likely[:2], [1, 1])
    engine.check(minspect, library)


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_metadata_is_listed(mode, built, minspect):
    """What the function returns in TVM, without a call."""
    machine, library, weights, _ = built("q4f32_1", mode)
    said, listed = json.loads(machine["_metadata"]()), json.loads(minspect("--json", library).stdout)["files"][0]["metadata"]
    for name, value in said.items():
        if isinstance(value, (int, str)):
            assert listed[name] == value, name
    assert listed["params"] == len(said["params"]) and listed["param_bytes"] == sum(w.nbytes for w in weights)
    assert {m["function"]: m["bytes"] for m in listed["memory"]} == said["memory_usage"]


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_functions_say_which_state_they_take(mode, built, minspect):
    _, library, _, _ = built("q4f32_1", mode)
    signatures = relaxrun.signatures_in(minspect, library)
    for name in "prefill", "decode", "batch_prefill", "batch_decode":
        assert [x["title"] for x in signatures[name][0] if x["kind"] == "named"] == ["KV cache"], name
    assert all(x["kind"] != "named" for x in signatures["embed"][0])
    (file,) = json.loads(minspect("--check", "--json", "--tvm", "0.27", library).stdout)["files"]
    assert file["states"] == [{"state": "KV cache", "made_by": ["create_paged_kv_cache"],
                               "taken_by": ["batch_decode", "batch_prefill", "decode", "prefill"]}]


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_weights_that_are_inputs_have_types(mode, minspect, tmp_path):
    """TVM checks none of them: the kernels that take them say what they are."""
    config = mlcmodels.Config(quantization="q0f32", params="plain", vocabulary=48)
    module, names, weights = mlcmodels.llama(numpy.random.default_rng(3), config)
    relaxrun.build(module, tmp_path / "plain.so", mode)
    inputs, outputs = relaxrun.signatures_in(minspect, tmp_path / "plain.so")["prefill"]
    assert [(x["kind"], x["shape"]) for x in outputs] == [("tensor", [1, 1, 48]), ("named", None)]
    types = {x["name"]: (x["dtype"], x["shape"]) for x in inputs if x["name"] in names}
    del types["embed_tokens.weight"]  # which no kernel of this function takes
    assert types == {n: (str(w.dtype), list(w.shape)) for n, w in zip(names[1:], weights[1:])}
    assert names[0] == "embed_tokens.weight"


# --- by libmpk-run, which makes tokens of its own ------------------------------------------------------

def tokens_of_tvm(machine, weights, prompt, count):
    import tvm_ffi
    call, given = tvm_ffi.get_global_func, [relaxrun.to_tvm(w) for w in weights]
    cache = machine["create_paged_kv_cache"](*[relaxrun.to_tvm(s) for s in SIZES])
    call(KV + "add_sequence")(cache, 0)
    tokens, function = [numpy.asarray(prompt, "int32")], "prefill"
    for _ in range(count):
        call(KV + "begin_forward")(cache, relaxrun.to_tvm(shape(0)), relaxrun.to_tvm(shape(len(tokens[-1]))))
        hidden = machine["embed"](relaxrun.to_tvm(tokens[-1]), given).numpy()
        logits, _ = machine[function](relaxrun.to_tvm(hidden[None]), cache, given)
        call(KV + "end_forward")(cache)
        tokens.append(numpy.array([greedy(logits)], "int32"))
        function = "decode"
    return [int(t[0]) for t in tokens[1:]]


def tokens_of_mpk(mpk, library, weights, prompt, count):
    model = mpk.open(library)
    given = model.tuple(weights)  # brought into the library once
    cache = model.create_paged_kv_cache(*[mpk.shape(*s) for s in SIZES])
    assert isinstance(cache, mpk.Value) and cache.type == "relax.vm.PagedAttentionKVCache"
    model[KV + "add_sequence"](cache, 0)
    tokens, function = [numpy.asarray(prompt, "int32")], model.prefill
    for _ in range(count):
        model[KV + "begin_forward"](cache, mpk.shape(0), mpk.shape(len(tokens[-1])))
        hidden = model.embed(tokens[-1], given)
        logits, same = function(hidden[None], cache, given)
        assert isinstance(same, mpk.Value)
        model[KV + "end_forward"](cache)
        tokens.append(numpy.array([logits.reshape(-1).argmax()], "int32"))
        function = model.decode
    return [int(t[0]) for t in tokens[1:]]


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("name", ["q4f32_1", *LARGE])
def test_greedy_tokens(name, mode, built, mpk):
    machine, library, weights, _ = built(name, mode)
    prompt = prompt_of(name)
    assert tokens_of_mpk(mpk, library, weights, prompt, 33) == tokens_of_tvm(machine, weights, prompt, 33)
