# SPDX-License-Identifier: Apache-2.0
"""Models with state give TVM's numbers: caches, recurrent states, sampling."""
import ctypes.util
import json

import numpy
import pytest
import relaxlib
import relaxrun
import statemodels
import tvm
import tvm_ffi
from staterun import CACHE, KV, Kept, Story, greedy, shape

from conftest import DATA

CACHE_ARGUMENTS = [shape(4), shape(256), shape(64), shape(16)]


def started(machine, weights, folder, window=0, sizes=CACHE_ARGUMENTS):
    """A story with a cache; the weights are kept, as they are the same in each call."""
    story = Story(folder, machine)
    story.call("create_paged_kv_cache", *sizes, shape(window), keep="cache")
    story.weights = [numpy.asarray(w) for w in weights]
    return story


def forward(story, function, ids, tokens, lengths, tolerance=1e-4, tree=None):
    """A pass of an engine: begin, embed, the model, end. tokens in a row of all sequences."""
    story.call(KV + "begin_forward", Kept("cache"), shape(*ids), shape(*lengths),
               *([shape(*tree)] if tree else []))
    hidden = story.call("embed", tokens, story.weights, tolerance=tolerance).numpy()
    count, width = hidden.shape
    if function == "batch_decode":
        inputs = [hidden.reshape(count, 1, width)]
    elif function == "batch_prefill":
        inputs = [hidden.reshape(1, count, width),
                  (numpy.cumsum(lengths) - 1).astype("int32")]
    else:
        inputs = [hidden.reshape(1, count, width)]
    result = story.call(function, *inputs, Kept("cache"), story.weights, tolerance=tolerance)
    assert not isinstance(result, Exception), result
    logits, _ = result
    story.call(KV + "end_forward", Kept("cache"))
    return logits


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_greedy(mode, minspect, tmp_path):
    """64 tokens at once, then 32 one by one, each the likeliest: the same tokens."""
    rng = numpy.random.default_rng(1)
    module, weights = statemodels.decoder(rng)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library, mode), weights, tmp_path)
    story.call(KV + "add_sequence", Kept("cache"), 7)
    prompt = rng.integers(0, statemodels.VOCABULARY, 64).astype("int32")
    logits = forward(story, "prefill", [7], prompt, [64])
    for _ in range(32):
        token = numpy.array([greedy(logits)], "int32")
        logits = forward(story, "decode", [7], token, [1])
    story.compare(minspect, library)
    if mode == "bytecode":  # which says what is a cache by what it is given to
        inputs, outputs = relaxrun.signatures_in(minspect, library)["decode"]
        assert [x["title"] for x in inputs + outputs if x["kind"] == "named"] == ["KV cache"] * 2


def test_every_builtin_of_tvm_is_known(minspect, tmp_path):
    """Built, or named with what it needs: none of them is a function that is not found."""
    names = [n for n in tvm_ffi.registry.list_global_func_names() if n.startswith(("vm.builtin.", "relax.run."))]
    assert len(names) > 80
    (tmp_path / "cases.toml").write_text("".join(f'[[case]]\nrun = "{n}"\nraises = "{n} is called"\n' for n in names))
    done = minspect("--cases", tmp_path / "cases.toml", DATA / "relax" / "gelu.so", status=1)
    assert "no function" not in done.stdout + done.stderr, done.stdout
    assert done.stdout.count("FAIL") >= len(names) - 5  # a few take nothing


# --- caches in any order of operations ------------------------------------------------------------

class Sequences:
    """What an engine may do with a cache, chosen at random, wrong things among them."""

    def __init__(self, story, rng, can_fork=True):
        self.story, self.rng, self.lengths, self.next_id = story, rng, {}, 0
        self.actions = [self.add, self.grow, self.grow, self.grow, self.decode, self.decode,
                        self.decode, self.remove, self.popn, self.wrong]
        self.actions += [self.fork] * 3 if can_fork else []

    def pick(self):
        return int(self.rng.choice(list(self.lengths)))

    def add(self):
        self.story.call(KV + "add_sequence", Kept("cache"), self.next_id)
        self.lengths[self.next_id] = 0
        self.next_id += 1

    def remove(self):
        if len(self.lengths) > 1:
            gone = self.pick()
            self.story.call(KV + "remove_sequence", Kept("cache"), gone)
            del self.lengths[gone]

    def fork(self):
        parent = self.pick()
        at = int(self.rng.integers(-1, self.lengths[parent] + 1))
        if not isinstance(self.story.call(KV + "fork_sequence", Kept("cache"), parent,
                                          self.next_id, at), Exception):
            self.lengths[self.next_id] = self.lengths[parent] if at == -1 else at
            self.next_id += 1

    def popn(self):
        chosen = self.pick()
        count = int(self.rng.integers(0, self.lengths[chosen] + 1))
        self.story.call(KV + "popn", Kept("cache"), chosen, count)
        self.lengths[chosen] -= count

    def batch(self, most):
        count = int(self.rng.integers(1, min(len(self.lengths), 4) + 1))
        ids = [int(x) for x in self.rng.choice(list(self.lengths), count, replace=False)]
        return ids, [int(self.rng.integers(1, most + 1)) for _ in ids]

    def room(self):
        pages = self.story.function(CACHE + "get_num_available_pages")(self.story.objects["cache"])
        return int(pages)

    def forward(self, function, ids, lengths):
        if self.room() < sum(n // 16 + 2 for n in lengths):
            return  # TVM leaves a cache half changed when it gets full
        tokens = self.rng.integers(0, statemodels.VOCABULARY, sum(lengths)).astype("int32")
        forward(self.story, function, ids, tokens, lengths)
        for i, n in zip(ids, lengths):
            self.lengths[i] += n

    def grow(self):
        self.forward("batch_prefill", *self.batch(16))

    def decode(self):
        ids, lengths = self.batch(1)
        self.forward("batch_decode", ids, lengths)

    def wrong(self):
        name, arguments = [
            ("add_sequence", [self.pick()]), ("remove_sequence", [1000]),
            ("fork_sequence", [1000, 1001, -1]), ("fork_sequence", [self.pick(), self.pick(), -1]),
            ("popn", [self.pick(), 10000]), ("popn", [1000, 1]), ("popn", [self.pick(), -1]),
            ("fork_sequence", [self.pick(), 1001, 10000]), ("fork_sequence", [self.pick(), 1001, -2]),
            ("begin_forward", [shape(1000), shape(1)]),
            ("begin_forward", [shape(self.pick()), shape(1, 1)]), ("add_sequence", ["a"]),
        ][self.rng.integers(12)]
        assert isinstance(self.story.call(KV + name, Kept("cache"), *arguments), Exception), name

    def look(self):
        for name in "empty", "get_num_available_pages", "get_total_sequence_length":
            self.story.call(CACHE + name, Kept("cache"))

    def act(self, times):
        self.add()
        for _ in range(times):
            self.actions[self.rng.integers(len(self.actions))]()
            self.look()


def compare_contents(story, lengths):
    """Keys and values of each sequence, as a kernel of the model reads them back."""
    for chosen, length in lengths.items():
        if length:
            made = numpy.zeros((statemodels.LAYERS, length, statemodels.KV_HEADS,
                                statemodels.HEAD_DIM), "float32")
            story.call(CACHE + "debug_get_kv", Kept("cache"), chosen, 0, length, made, made.copy(),
                       out=(4, 5), tolerance=1e-4)


@pytest.mark.parametrize("mode", relaxrun.MODES)
@pytest.mark.parametrize("seed", range(3))
def test_random(seed, mode, minspect, tmp_path):
    rng = numpy.random.default_rng(seed)
    options = [{}, {"rope": statemodels.RopeMode.INLINE}, {"rope": statemodels.RopeMode.NONE}][seed]
    module, weights = statemodels.decoder(rng, **options)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library, mode), weights, tmp_path,
                    sizes=[shape(8), shape(900), shape(64), shape(16)])
    sequences = Sequences(story, rng)
    sequences.act(80)
    compare_contents(story, sequences.lengths)
    story.call(KV + "clear", Kept("cache"))
    sequences.look()
    story.compare(minspect, library)


def random_tree(rng, count):
    return [int(rng.integers(-1, i)) if rng.random() < 0.6 else i - 1 for i in range(count)]


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_trees(mode, minspect, tmp_path):
    """Trees of tokens: several continuations in one pass, of which one path is committed."""
    rng = numpy.random.default_rng(8)
    module, weights = statemodels.decoder(rng)
    library = tmp_path / "model.so"
    machine = relaxrun.build(statemodels.with_trees(module), library, mode)
    story = started(machine, weights, tmp_path)
    for i in range(3):
        story.call(KV + "add_sequence", Kept("cache"), i)
    lengths = {0: 0, 1: 0, 2: 0}
    for step in range(8):
        ids, counts = [0, 1, 2], [int(rng.integers(2, 8)) for _ in range(3)]
        forward(story, "batch_prefill", ids, rng.integers(0, 96, sum(counts)).astype("int32"),
                counts)
        if step == 2:
            story.call(KV + "fork_sequence", Kept("cache"), 0, 9, 16)
            story.call(KV + "remove_sequence", Kept("cache"), 9)
        trees = [random_tree(rng, int(rng.integers(1, 7))) for _ in ids]
        sizes = [len(t) for t in trees]
        forward(story, "batch_prefill", ids, rng.integers(0, 96, sum(sizes)).astype("int32"), sizes,
                tree=sum(trees, []))
        story.call(CACHE + "get_query_positions", Kept("cache"))
        if step == 5:  # a pass without a tree, a fork: not before the commit
            story.call(KV + "begin_forward", Kept("cache"), shape(0), shape(1))
            story.call(KV + "fork_sequence", Kept("cache"), 1, 20, -1)
            break
        leaves = [int(rng.integers(-1, n)) for n in sizes]
        story.call(CACHE + "commit_accepted_token_tree_nodes", Kept("cache"), shape(*ids),
                   shape(*leaves))
        story.call(CACHE + "get_total_sequence_length", Kept("cache"))
        for i, count, tree, leaf in zip(ids, counts, trees, leaves):
            lengths[i] += count
            while leaf != -1:
                lengths[i], leaf = lengths[i] + 1, tree[leaf]
        compare_contents(story, lengths)
    story.call(KV + "begin_forward", Kept("cache"), shape(0), shape(2), shape(-1, 1))
    story.call(KV + "begin_forward", Kept("cache"), shape(0), shape(2), shape(-1))
    story.compare(minspect, library)


def test_sliding_window(minspect, tmp_path):
    """Sequences whose windows slide, with and without tokens that are kept, forked within these."""
    rng = numpy.random.default_rng(5)
    module, weights = statemodels.decoder(rng)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library), weights, tmp_path, window=1)
    sequences = Sequences(story, rng, can_fork=False)
    for window, kept in (40, 0), (48, 10), (33, 20), (None, None):
        sequences.add()
        if window:
            story.call(CACHE + "enable_sliding_window_for_seq", Kept("cache"),
                       sequences.next_id - 1, window, kept)
    for arguments in ([0, 40, 0], [1000, 4, 1], [3, 0, 0], [3, 4, 4], [3, 4, -1]):
        story.call(CACHE + "enable_sliding_window_for_seq", Kept("cache"), *arguments)
    for step in range(36):
        ids = [0, 1, 2, 3] if step % 3 else [int(rng.integers(4))]
        lengths = [1 if step % 2 else int(rng.integers(1, 12)) for _ in ids]
        if step in (9, 21):
            story.call(KV + "fork_sequence", Kept("cache"), 2, 10 + step, 9)
        sequences.forward("batch_decode" if step % 2 else "batch_prefill",
                          [i for i in ids if sequences.lengths[i] + 12 < 200], lengths[:len(ids)])
        sequences.look()
    story.call(KV + "fork_sequence", Kept("cache"), 1, 50, 30)
    story.compare(minspect, library)


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_sliding_layers(mode, minspect, tmp_path):
    """Layers that see the last tokens alone, beside one that sees all."""
    if not statemodels.IS_NEW:
        pytest.skip("windows of layers are computed as TVM 0.27 does")
    rng = numpy.random.default_rng(6)
    module, weights = statemodels.decoder(rng, kinds=["mha_sliding", "mha", "mha_sliding"],
                                          window=32)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library, mode), weights, tmp_path)
    sequences = Sequences(story, rng)
    sequences.add()
    sequences.add()
    for step in range(30):
        sequences.forward("batch_decode" if step % 3 else "batch_prefill", [0, 1],
                          [1, 1] if step % 3 else [int(rng.integers(1, 20)) for _ in range(2)])
        sequences.look()
    sequences.act(25)
    story.compare(minspect, library)


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_attention_apart(mode, minspect, tmp_path):
    """Attention to new tokens and to pages by builtins of their own, in passes of one token and of more."""
    rng = numpy.random.default_rng(9)
    module, weights = statemodels.decoder(rng)
    library = tmp_path / "model.so"
    story = started(relaxrun.build(module, library, mode), weights, tmp_path)

    def heads(count, kind):
        return rng.standard_normal((1, count, kind, statemodels.HEAD_DIM)).astype("float32")

    for i in range(2):
        story.call(KV + "add_sequence", Kept("cache"), i)
    # without a pass that began TVM 0.27 reads what nobody has set
    for counts in [20, 9], [4, 1], [1, 1], [1, 1], [3, 3]:
        total = sum(counts)
        forward(story, "batch_prefill", [0, 1], rng.integers(0, 96, total).astype("int32"), counts)
        if counts != [1, 1]:  # else keys would be read that nobody has appended
            story.call(KV + "begin_forward", Kept("cache"), shape(0, 1), shape(*counts))
        for rows in total, total + 1:
            story.call("apart", heads(rows, 4), heads(rows, 2), heads(rows, 2), Kept("cache"),
                       tolerance=1e-4)
        story.call(CACHE + "merge_attn_output_inplace", Kept("cache"),
                   *[numpy.zeros((2, 4, 16), "float32"), numpy.zeros((2, 4), "float32")] * 2)
        story.call(CACHE + "append_mla_kv", Kept("cache"), 0, numpy.zeros((total, 16), "float32"))
        if counts != [1, 1]:
            story.call(KV + "popn", Kept("cache"), 0, counts[0])
            story.call(KV + "popn", Kept("cache"), 1, counts[1])
    story.compare(minspect, library)


def test_opencl(minspect, tmp_path):
    """The same on a device: TVM's package has no OpenCL runtime, so the numbers are those of its CPU.

    A prompt and single tokens: TVM 0.27's kernel that merges two attentions reads what other work items of
    its group have written, which works where they run in step, not on a CPU.
    """
    if not ctypes.util.find_library("OpenCL"):
        pytest.skip("no OpenCL library")
    dlight = pytest.importorskip("tvm.s_tir.dlight")
    target = tvm.target.Target({"kind": "opencl", "max_num_threads": 256, "thread_warp_size": 1,
                                "max_shared_memory_per_block": 16384}, host="llvm")
    module, _ = statemodels.decoder(numpy.random.default_rng(1), target=target)
    with target:
        module = relaxrun.relax.transform.LegalizeOps()(module)
        module = dlight.ApplyDefaultSchedule(
            dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction(),
            dlight.gpu.GeneralReduction(), dlight.gpu.Fallback())(module)
        relaxrun.relax.build(module, target=target).export_library(str(tmp_path / "device.so"))
    rng = numpy.random.default_rng(1)
    module, weights = statemodels.decoder(rng)
    story = started(relaxrun.build(module, tmp_path / "host.so"), weights, tmp_path)
    for i, n in enumerate((20, 37)):
        story.call(KV + "add_sequence", Kept("cache"), i)
        forward(story, "prefill", [i], rng.integers(0, 96, n).astype("int32"), [n])
    for _ in range(4):
        forward(story, "batch_decode", [0, 1], rng.integers(0, 96, 2).astype("int32"), [1, 1])
    story.compare(minspect, tmp_path / "device.so", "--device", "opencl")


# --- without a model ------------------------------------------------------------------------------

SMALL = """
@I.ir_module
class Module:
    @T.prim_func
    def get(s: T.handle, a: T.handle, b: T.handle, o: T.handle):
        n, k, m = T.int32(), T.int32(), T.int32()
        S = T.match_buffer(s, (n, k, 2, 3), "float32")
        A = T.match_buffer(a, (m,), "int32")
        B = T.match_buffer(b, (m,), "int32")
        O = T.match_buffer(o, (m, 2, 3), "float32")
        for i, j, l in T.grid(m, 2, 3):
            O[i, j, l] = S[A[i], B[i], j, l]

    @T.prim_func
    def put(s: T.handle, a: T.handle, b: T.handle, v: T.handle):
        n, k, m = T.int32(), T.int32(), T.int32()
        S = T.match_buffer(s, (n, k, 2, 3), "float32")
        A = T.match_buffer(a, (m,), "int32")
        B = T.match_buffer(b, (m,), "int32")
        V = T.match_buffer(v, (m, 2, 3), "float32")
        for i, j, l in T.grid(m, 2, 3):
            S[A[i], (B[i] + 1) % k, j, l] = V[i, j, l]

    @R.function
    def create(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        cls = Module
        s = R.call_pure_packed("vm.builtin.rnn_state_create", R.prim_value(2), R.prim_value(3),
                               R.prim_value(4), (cls.get, cls.get), (cls.put, cls.put), (x, y),
                               ty_args=(R.Any,))
        return s

    @R.function
    def step(s: R.Any, x: R.Tensor(("n", 2, 3), "float32")):
        n = T.int64()
        a = R.call_dps_packed("vm.builtin.rnn_state_get", (s, R.prim_value(1), R.prim_value(0)),
                              out_ty=R.Tensor((n, 2, 3), "float32"))
        b = R.add(R.multiply(a, R.const(0.5, "float32")), x)
        t = R.call_pure_packed("vm.builtin.rnn_state_set", s, R.prim_value(1), R.prim_value(0), b,
                               ty_args=(R.Any,))
        return (b, t)

    @R.function
    def echo(x: R.Tensor((2,), "float32")):
        y = R.add(x, x)
        return y
"""


def parse(source):
    """Relax as this TVM spells it: what is any value was an object in TVM 0.25."""
    if not hasattr(relaxlib.R, "Any"):
        for new, old in ("R.Any", "R.Object"), (" ty_args", " sinfo_args"), ("out_ty", "out_sinfo"):
            source = source.replace(new, old)
    return relaxlib.parse(source)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return folder / "model.so", relaxrun.build(parse(SMALL), folder / "model.so")


@pytest.mark.parametrize("seed", range(2))
def test_recurrent(small, seed, minspect, tmp_path):
    """States of a recurrent model through random operations; wrong ones raise in both."""
    library, machine = small
    rng, story = numpy.random.default_rng(seed), Story(tmp_path, machine)
    x, y = (rng.standard_normal((2, 3)).astype("float32") for _ in range(2))
    story.call("create", x, y, keep="state")
    known, next_id = [], 0
    for _ in range(60):
        action = rng.integers(6)
        chosen = int(rng.choice(known)) if known else 1000
        if action == 0 and len(known) < 4:
            if not isinstance(story.call(KV + "add_sequence", Kept("state"), next_id), Exception):
                known.append(next_id)
            next_id += 1
        elif action == 1 and len(known) > 1:
            story.call(KV + "remove_sequence", Kept("state"), chosen)
            known.remove(chosen)
        elif action == 2:
            if not isinstance(story.call(KV + "fork_sequence", Kept("state"), chosen, next_id, -1),
                              Exception):
                known.append(next_id)
            next_id += 1
        elif action == 3:
            story.call(KV + "popn", Kept("state"), chosen, int(rng.integers(0, 3)))
        elif known:
            ids = [int(i) for i in rng.choice(known, rng.integers(1, len(known) + 1), replace=False)]
            story.call(KV + "begin_forward", Kept("state"), shape(*ids),
                       shape(*(int(rng.integers(1, 3)) for _ in ids)))
            story.call("step", Kept("state"),
                       rng.standard_normal((len(ids), 2, 3)).astype("float32"), tolerance=1e-6)
            story.call(KV + "end_forward", Kept("state"))
        for i in known:
            story.call("vm.builtin.rnn_state_debug_get", Kept("state"), 1, 0, i, tolerance=1e-6)
    story.call("step", Kept("state"), numpy.zeros((1, 2, 3), "float32"))
    story.call(KV + "clear", Kept("state"))
    story.call(KV + "popn", Kept("state"), 0, 1)
    story.compare(minspect, library)


@pytest.mark.parametrize("seed", range(2))
def test_older_cache(small, seed, minspect, tmp_path):
    library, machine = small
    rng, story = numpy.random.default_rng(seed), Story(tmp_path, machine)

    def entries(count, width=3):
        return rng.standard_normal((count, width)).astype("float32")

    story.call(CACHE + "create", entries(2), shape(4, 3), -1, keep="a")
    # with room for the whole window: TVM 0.27 writes beyond the end of a smaller one
    story.call(CACHE + "create", entries(1), shape(9, 3), 0, keep="b")
    story.call(CACHE + "create", entries(1), shape(2, 4), -1)
    for _ in range(24):
        story.call(CACHE + "append", Kept("a"), entries(int(rng.integers(1, 6))))
        story.call(CACHE + "window_override_with_sinks", Kept("b"),
                   entries(int(rng.integers(1, 6))), 9, 2)
        for name in "a", "b":
            story.call(CACHE + "view", Kept(name))
    filled = story.call(CACHE + "view", Kept("a")).shape[0]
    story.call(CACHE + "update", Kept("a"), entries(filled))
    story.call(CACHE + "view", Kept("a"), shape(filled, 3))
    story.call(CACHE + "view", Kept("a"), shape(filled - 1, 3))
    story.call(CACHE + "update", Kept("a"), entries(filled - 1))
    story.call(CACHE + "append", Kept("a"), entries(1, 4))
    story.call(CACHE + "window_override", Kept("b"), entries(20), 9)
    story.call("vm.builtin.make_tuple", Kept("a"), keep="first")
    story.call("vm.builtin.make_tuple", Kept("a"), Kept("b"), keep="both")
    story.call(CACHE + "array_popn", Kept("first"), 3)
    story.call(CACHE + "view", Kept("a"))
    story.call(CACHE + "array_popn", Kept("both"), 100)
    story.call(CACHE + "array_clear", Kept("both"))
    story.call(CACHE + "view", Kept("b"))
    story.compare(minspect, library)


def test_sampling(small, minspect, tmp_path):
    library, machine = small
    rng, story = numpy.random.default_rng(3), Story(tmp_path, machine)
    for count in (1, 2, 50, 2000):
        for _ in range(6):
            logits = (rng.standard_normal((1, count)) * 4).astype("float32")
            prob = numpy.exp(logits) / numpy.exp(logits).sum()
            u, top_p = (float(x) for x in rng.random(2))
            story.call("vm.builtin.sample_top_p_from_logits", logits, 0.7, top_p, u)
            story.call("vm.builtin.sample_top_p_from_logits", logits, 0.0, top_p, u)
            for p in top_p, 1.0, 0.999:
                story.call("vm.builtin.sample_top_p_from_prob", prob.astype("float32"), p, u)
            rows = numpy.vstack([prob, prob[:, ::-1]]).astype("float32")
            story.call("vm.builtin.multinomial_from_uniform", rows,
                       rng.random((2, 1)).astype("float32"))
            ids = rng.integers(0, count, 1 if count == 1 else 2).astype("int32")
            story.call("vm.builtin.apply_repetition_penalty", logits.copy(), ids, 1.3, out=(0,))
            story.call("vm.builtin.apply_presence_and_frequency_penalty", logits.copy(), ids,
                       rng.integers(1, 5, len(ids)).astype("int32"), 0.3, 0.2, out=(0,))
            story.call("vm.builtin.apply_softmax_with_temperature", logits.copy(), 0.8, out=(0,),
                       tolerance=1e-6)
    nothing = numpy.full((1, 4), numpy.nan, "float32")
    story.call("vm.builtin.sample_top_p_from_prob", nothing, 0.9, 0.5)
    story.call("vm.builtin.sample_top_p_from_prob", numpy.ones((2, 4), "float32"), 0.9, 0.5)
    story.call("vm.builtin.sample_top_p_from_logits", numpy.ones(4, "float64"), 1.0, 0.9, 0.5)
    if statemodels.IS_NEW:
        story.call("vm.builtin.check_string_info", "text", "where")
        story.call("vm.builtin.check_string_info", 3, "where")
    story.compare(minspect, library)


def test_weights(small, minspect, tmp_path):
    library, machine = small
    rng, story = numpy.random.default_rng(4), Story(tmp_path, machine)
    cache = "vm.builtin.tensor_cache."
    for i in range(3):
        story.call(cache + "update", f"w_{i}", rng.standard_normal(4).astype("float32"), False)
    story.call(cache + "update", "w_0", numpy.zeros(4, "float32"), False)
    story.call(cache + "update", "w_0", numpy.ones(4, "float32"), True)
    for count in -1, 2, 4, 0:
        story.call("vm.builtin.param_array_from_cache", "w", count)
    story.call("vm.builtin.param_array_from_cache_by_name_unpacked", "w_2", "w_0")
    story.call("vm.builtin.param_array_from_cache_by_name_unpacked", "w_2", "w_9")
    story.call(cache + "get", "w_1")
    story.call(cache + "remove", "w_1")
    story.call("vm.builtin.param_array_from_cache", "w", -1)
    story.call("vm.builtin.param_module_from_cache", "w", 2)
    story.call(cache + "clear")
    story.call("vm.builtin.param_array_from_cache", "w", 1)
    story.compare(minspect, library)


USES = """
@I.ir_module
class Module:
    @R.function
    def pick(p: R.Tensor((2, 5), "float32"), u: R.Tensor((2, 1), "float32")):
        x = R.call_pure_packed("vm.builtin.multinomial_from_uniform", p, u, ty_args=(R.Any,))
        return x

    @R.function
    def weights():
        w = R.call_pure_packed("vm.builtin.param_array_from_cache", R.str("w"), R.prim_value(2), ty_args=(R.Any,))
        return w

    @R.function
    def twice(x: R.Tensor((2,), "float32")):
        y = R.add(x, x)
        return y
"""


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_what_functions_use_is_named(mode, minspect, tmp_path):
    """Weights by name and random numbers, in the listing and by --check; a function that uses neither is not."""
    relaxrun.build(parse(USES), tmp_path / "model.so", mode)
    (file,) = json.loads(minspect("--functions", "--json", tmp_path / "model.so").stdout)["files"]
    assert {m["name"]: m.get("uses") for m in file["models"]} == {
        "pick": ["random numbers"], "weights": ["weights by name"], "twice": None}
    (file,) = json.loads(minspect("--check", "--json", tmp_path / "model.so").stdout)["files"]
    assert file["states"] == [{"state": "random numbers", "made_by": [], "taken_by": ["pick"]},
                              {"state": "weights by name", "made_by": [], "taken_by": ["weights"]}]


@pytest.mark.parametrize("cache", ["cache", "cache-bf16"])
def test_weights_of_a_folder(small, cache, minspect, tmp_path):
    """The pool is filled from a tensor cache, as an engine does it on its own machine."""
    library, machine = small
    story, folder = Story(tmp_path, machine), str(DATA / "weights" / cache)
    shards = json.loads((DATA / "weights" / cache / "tensor-cache.json").read_text())["records"]
    names = [r["name"] for shard in shards for r in shard["records"]]
    story.call("vm.builtin.tensor_cache.update", names[0], numpy.ones(4, "float32"), True)
    story.call("vm.builtin.tensor_cache.load", folder, 1, 0)
    for name in names:
        assert story.call("vm.builtin.tensor_cache.get", name) is not None
    story.call("vm.builtin.param_array_from_cache_by_name_unpacked", *names)
    for wrong in [str(tmp_path), 1, 0], [folder, 1], [folder, 1, 0, 0], [3, 1, 0]:
        assert isinstance(story.call("vm.builtin.tensor_cache.load", *wrong), Exception), wrong
    story.compare(minspect, library)


@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_all_that_is_missing(mode, minspect, tmp_path):
    """Functions that nobody has are named at once, also by compiled code, which looks them up one by one."""
    library = tmp_path / "model.so"
    module = parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = R.call_pure_packed("acme.one", x, ty_args=(R.Any,))
        b = R.call_pure_packed("vm.builtin.copy", a, ty_args=(R.Any,))
        c = R.call_pure_packed("acme.two", b, ty_args=(R.Any,))
        return c
""")
    relaxrun.relax.build(module, "llvm", exec_mode=mode).export_library(str(library))
    said = minspect("--run", "main", library, "--input", "2xf32", status=6)
    assert "acme.one, acme.two" in said.stderr


# --- MLA -------------------------------------------------------------------------------------------

# TVM's own kernels for it are for GPUs. These compute something of all tables that they are given.
MLA = """
@I.ir_module
class Module:
    @T.prim_func
    def append(p: T.handle, k: T.handle, a: T.handle):
        n, m = T.int32(), T.int32()
        P = T.match_buffer(p, (n, 4, 3), "float32")
        K = T.match_buffer(k, (m, 3), "float32")
        A = T.match_buffer(a, (m,), "int32", elem_offset=T.int32())
        for i, j in T.grid(m, 3):
            if A[i] != -1:
                P[A[i] // 4, A[i] % 4, j] = K[i, j]

    @T.prim_func
    def ragged(q: T.handle, b: T.handle, k: T.handle, v: T.handle, c: T.handle, x: T.handle,
               y: T.handle, o: T.handle, l: T.handle, causal: T.int32, rotary: T.int32,
               scale: T.float32, theta: T.float32, sm: T.float32):
        n, s = T.int32(), T.int32()
        Q = T.match_buffer(q, (n, 2, 3), "float32")
        B = T.match_buffer(b, (s + 1,), "int32", elem_offset=T.int32())
        K = T.match_buffer(k, (n, 2, 3), "float32")
        V = T.match_buffer(v, (n, 2, 2), "float32")
        C = T.match_buffer(c, (s + 1,), "int32", elem_offset=T.int32())
        X = T.match_buffer(x, (n,), "int32", elem_offset=T.int32())
        Y = T.match_buffer(y, (s,), "int32", elem_offset=T.int32())
        O = T.match_buffer(o, (n, 2, 2), "float32")
        L = T.match_buffer(l, (n, 2), "float32")
        for i in range(s):
            for r in range(B[i + 1] - B[i]):
                for h in range(2):
                    L[B[i] + r, h] = T.cast(X[B[i] + r] + Y[i] * 100 + C[i], "float32")
                    for d in range(2):
                        O[B[i] + r, h, d] = Q[B[i] + r, h, d] + K[B[i] + r, h, d] * sm \\
                            + V[B[i] + r, h, d] + T.cast(causal + 10 * rotary, "float32")

    @T.prim_func
    def paged(q: T.handle, b: T.handle, p: T.handle, e: T.handle, g: T.handle, w: T.handle,
              o: T.handle, l: T.handle, causal: T.int32, sm: T.float32):
        n, s, m, t = T.int32(), T.int32(), T.int32(), T.int32()
        Q = T.match_buffer(q, (n, 2, 3), "float32")
        B = T.match_buffer(b, (s + 1,), "int32", elem_offset=T.int32())
        P = T.match_buffer(p, (m, 4, 3), "float32")
        E = T.match_buffer(e, (s + 1,), "int32", elem_offset=T.int32())
        G = T.match_buffer(g, (t,), "int32", elem_offset=T.int32())
        W = T.match_buffer(w, (s,), "int32", elem_offset=T.int32())
        O = T.match_buffer(o, (n, 2, 2), "float32")
        L = T.match_buffer(l, (n, 2), "float32")
        for i in range(s):
            for r in range(B[i + 1] - B[i]):
                for h in range(2):
                    L[B[i] + r, h] = T.cast(W[i] + 10 * (E[i + 1] - E[i]), "float32")
                    for d in range(2):
                        O[B[i] + r, h, d] = Q[B[i] + r, h, d] * sm + T.cast(causal, "float32")
                        for a in range(E[i + 1] - E[i]):
                            for c in range(T.if_then_else(E[i] + a + 1 == E[i + 1], W[i], 4)):
                                O[B[i] + r, h, d] = O[B[i] + r, h, d] + P[G[E[i] + a], c, d] \\
                                    * T.cast(a * 4 + c + 1, "float32")

    @T.prim_func
    def merge(o: T.handle, l: T.handle, p: T.handle, m: T.handle):
        n = T.int32()
        O = T.match_buffer(o, (n, 2, 2), "float32")
        L = T.match_buffer(l, (n, 2), "float32")
        P = T.match_buffer(p, (n, 2, 2), "float32")
        M = T.match_buffer(m, (n, 2), "float32")
        for i, h in T.grid(n, 2):
            L[i, h] = L[i, h] + M[i, h] * T.float32(2)
            for d in range(2):
                O[i, h, d] = O[i, h, d] * T.float32(0.5) + P[i, h, d]

    @T.prim_func
    def copy_page(p: T.handle, a: T.int64, b: T.int64, c: T.int64):
        n = T.int32()
        P = T.match_buffer(p, (n, 4, 3), "float32")
        for i, j in T.grid(4, 3):
            if T.Cast("int64", i) < c:
                P[b, i, j] = P[a, i, j]

    @T.prim_func
    def read(p: T.handle, a: T.handle, o: T.handle, layer: T.int64):
        n, m = T.int32(), T.int32()
        P = T.match_buffer(p, (n, 4, 3), "float32")
        A = T.match_buffer(a, (m,), "int32", elem_offset=T.int32())
        O = T.match_buffer(o, (2, m, 3), "float32")
        for i, j in T.grid(m, 3):
            O[layer, i, j] = P[A[i] // 4, A[i] % 4, j]

    @R.function
    def create(x: R.Tensor((), "float32")):
        cls = Module
        c = R.call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create", R.shape([4, 80, 32, 4, 0, 1024]),
            R.shape([0, 2]), R.prim_value(2), R.prim_value(1), R.prim_value(3), R.prim_value(2),
            R.shape([1, 1]), R.prim_value(0), R.prim_value(0), R.prim_value(1), R.prim_value(10000),
            R.prim_value(0), x, cls.append, cls.append, (R.str("tirx"), cls.ragged), R.tuple(),
            R.tuple(), R.tuple(), R.tuple(), R.tuple(), R.tuple(), (R.str("tirx"), cls.paged),
            (cls.merge, cls.merge), cls.merge, cls.copy_page, cls.read, cls.merge,
            ty_args=(R.Any,))
        return c

    @R.function
    def step(c: R.Any, q: R.Tensor(("n", 2, 3), "float32"), k: R.Tensor(("n", 2, 3), "float32"),
             v: R.Tensor(("n", 2, 2), "float32"), kv: R.Tensor(("n", 3), "float32")):
        n = T.int64()
        d = R.call_pure_packed("vm.builtin.attention_kv_cache_append_mla_kv", c, R.prim_value(1), kv,
                               ty_args=(R.Any,))
        a = R.call_dps_packed("vm.builtin.attention_kv_cache_self_attention",
                              (d, R.prim_value(1), R.prim_value(0.5), q, k, v),
                              out_ty=[R.Tensor((n, 2, 2), "float32"), R.Tensor((n, 2), "float32")])
        b = R.call_dps_packed("vm.builtin.attention_kv_cache_cross_attention",
                              (d, R.prim_value(1), R.prim_value(0.25), q),
                              out_ty=[R.Tensor((n, 2, 2), "float32"), R.Tensor((n, 2), "float32")])
        m = R.call_pure_packed("vm.builtin.attention_kv_cache_merge_attn_output_inplace", d, a[0],
                               a[1], b[0], b[1], ty_args=(R.Tuple(
                                   R.Tensor((n, 2, 2), "float32"), R.Tensor((n, 2), "float32")),))
        return (m[0], m[1], b[0], b[1])
"""


@pytest.mark.skipif(tvm.__version__ < "0.27", reason="the program passes the arguments of TVM 0.27")
@pytest.mark.parametrize("mode", relaxrun.MODES)
def test_mla(mode, minspect, tmp_path):
    rng, library = numpy.random.default_rng(12), tmp_path / "model.so"
    story = Story(tmp_path, relaxrun.build(parse(MLA), library, mode))
    story.call("create", numpy.zeros((), "float32"), keep="cache")

    def values(*extents):
        return rng.standard_normal(extents).astype("float32")

    lengths = {}
    for i in range(14):
        if i in (0, 1, 5):
            story.call(KV + "add_sequence", Kept("cache"), i)
            lengths[i] = 0
        if i in (4, 8):
            story.call(KV + "fork_sequence", Kept("cache"), 0, 20 + i, lengths[0] - i // 4)
            lengths[20 + i] = lengths[0] - i // 4
        if i == 10:
            story.call(KV + "popn", Kept("cache"), 24, 3)
            story.call(KV + "remove_sequence", Kept("cache"), 1)
            lengths[24] -= 3
            del lengths[1]
        ids = list(lengths)
        counts = [1 if i % 2 else int(rng.integers(1, 5)) for _ in ids]
        story.call(KV + "begin_forward", Kept("cache"), shape(*ids), shape(*counts))
        n = sum(counts)
        story.call(CACHE + "append_mla_kv", Kept("cache"), 0, values(n, 3))
        if i == 0:  # without pages there is no attention to them, and nobody sets its result
            story.call(CACHE + "append_mla_kv", Kept("cache"), 1, values(n, 3))
        else:
            story.call("step", Kept("cache"), values(n, 2, 3), values(n, 2, 3), values(n, 2, 2),
                       values(n, 3), tolerance=1e-5)
        story.call(KV + "end_forward", Kept("cache"))
        for chosen, count in zip(ids, counts):
            lengths[chosen] += count
    story.call(CACHE + "debug_get_kv_mla", Kept("cache"), 0, 0, lengths[0],
               numpy.zeros((2, lengths[0], 3), "float32"), out=(4,))
    story.call(KV + "begin_forward", Kept("cache"), shape(0), shape(1), shape(-1))
    for wrong in values(1, 2), values(1, 3, 1), values(500, 3):
        story.call(CACHE + "append_mla_kv", Kept("cache"), 0, wrong)
    story.compare(minspect, library)
