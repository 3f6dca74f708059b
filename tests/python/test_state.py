# SPDX-License-Identifier: Apache-2.0
"""Caches of language models: saved and loaded, forked, stopped wherever a call is; operators that are watched; functions
that are passed to functions."""
import gzip
import importlib.util
import json
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import mpk

TESTS = pathlib.Path(__file__).resolve().parents[1]
RELAX = TESTS / "data" / "relax"
KV = "vm.builtin.kv_state_"
PROMPT, WANTED = [3, 1, 4, 1, 5], [27, 10, 3, 3, 27, 27, 27, 27, 29, 1, 28, 15]  # mpk-run(3)

spec = importlib.util.spec_from_file_location("generate", TESTS / "embed" / "generate.py")
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)


@pytest.fixture(name="decoder", scope="module")
def unpacked(tmp_path_factory):
    path = tmp_path_factory.mktemp("decoder") / "decoder.so"
    path.write_bytes(gzip.decompress((RELAX / "decoder.so.gz").read_bytes()))
    return str(path)


def tokens_of(generator, sequence, fed, count):
    made = []
    for _ in range(count):
        fed = [generator.feed(sequence, fed)]
        made += fed
    return made


def begun(decoder, count):
    generator = generate.Generator(decoder)
    generator.add(0)
    return generator, tokens_of(generator, 0, PROMPT, count)


def test_a_program_in_two_processes(decoder, tmp_path):
    program = [sys.executable, str(TESTS / "embed" / "generate.py"), decoder, str(tmp_path / "saved")]
    said = [subprocess.run([*program, how, "4"], check=True, capture_output=True, text=True).stdout.split()
            for how in ("begin", "go-on", "go-on")]
    assert [int(t) for part in said for t in part] == WANTED


def test_metadata_is_a_text(decoder):
    model = mpk.open(decoder)
    assert model["_metadata"]() == model["_metadata"].call_whole() == model.metadata()


def test_programs(decoder, tmp_path):
    def run(name, *args):
        program = [sys.executable, str(TESTS / "embed" / "programs" / name), *map(str, args)]
        return subprocess.run(program, check=True, capture_output=True, text=True).stdout.splitlines()

    said = [*run("program.py", "classify", TESTS / "data/legacy/mlp_llvm.so")]
    for how in ("begin", "go-on"):
        said += run("program.py", "generate", decoder, tmp_path / "saved", how)
    said += run("program.py", "serve", decoder)
    wanted = (TESTS / "cli/library/programs.stdout.exact").read_text().splitlines()
    assert said == wanted[:len(said)] and len(said) == 9
    assert run("plugin.py", RELAX / "registered.so") == ["the application has taken 'test.vm.identity' away", "came and went"]


@pytest.mark.parametrize("at", [0, 1, 5, 11])
def test_saved_and_loaded(decoder, at):
    generator, made = begun(decoder, at)
    saved = generator.cache.save(0) if at else generator.cache.save()
    assert saved.dtype == "uint8" and bytes(saved)[:8] == b"MPKSTATE"
    again = generate.Generator(decoder)
    again.cache.load(bytes(saved))
    fed = made[-1:] or PROMPT
    assert made + tokens_of(again, 0, fed, 12 - at) == WANTED
    assert made + tokens_of(generator, 0, fed, 12 - at) == WANTED  # it goes on, too


def test_what_does_not_fit_is_refused_and_changes_nothing(decoder):
    generator, made = begun(decoder, 4)
    saved = bytes(generator.cache.save(0))
    with pytest.raises(RuntimeError, match="already in the cache"):
        generator.cache.load(saved)
    other = generate.Generator(decoder, page=8)
    with pytest.raises(RuntimeError, match="tokens in a page"):
        other.cache.load(saved)
    again = generate.Generator(decoder)
    for bad in (b"", b"MPKSTATE", saved[:-1], saved[:100], saved + b"x", b"x" + saved[1:], bytearray(len(saved))):
        with pytest.raises(mpk.Error):
            again.cache.load(bad)
    changed = bytearray(saved)
    changed[8] += 1
    with pytest.raises(mpk.Error, match="version"):
        again.cache.load(changed)
    with pytest.raises(RuntimeError):
        generator.cache.save(7)
    with pytest.raises(TypeError):
        again.cache.load("text")
    with pytest.raises(ValueError, match="no state"):
        again.model.tuple([1, 2]).save()
    again.cache.load(memoryview(saved))
    assert made + tokens_of(again, 0, made[-1:], 8) == WANTED


def test_sequences_are_forked_within_a_cache_and_into_another_session(decoder):
    generator, made = begun(decoder, 3)
    generator.fork(0, 1)
    other = generator.model.create_paged_kv_cache(*map(mpk.shape, (2, 64, 32, 16, 0)))
    other.load(generator.cache.save(1))
    sessions = {name: generator.model[name].session() for name in ("embed", "decode", KV + "begin_forward", KV + "end_forward")}
    results = []

    def aside():
        token, own = made[-1], list(made)
        while len(own) < len(WANTED):
            sessions[KV + "begin_forward"](other, mpk.shape(1), mpk.shape(1))
            hidden = sessions["embed"](np.array([token], "int32"))
            logits, _ = sessions["decode"](hidden[None], other)
            sessions[KV + "end_forward"](other)
            token = int(logits.reshape(-1).argmax())
            own.append(token)
        results.append(own)

    threads = [threading.Thread(target=aside)]
    threads[0].start()
    for sequence in (1, 0):
        assert made + tokens_of(generator, sequence, made[-1:], 9) == WANTED
    threads[0].join()
    assert results == [WANTED]


def test_stopped_at_every_operator_and_resumed(decoder):
    generator, made = begun(decoder, 2)
    seen = []
    generator.model.watch(seen.append)
    made.append(generator.feed(0, made[-1:]))
    assert {e.kind for e in seen} >= {"kernel", "builtin"} and any(e.is_end for e in seen)
    assert seen[0].nanoseconds <= seen[-1].nanoseconds and seen[0].device == (1, 0)
    count = len(seen)
    assert count > 20
    saved = bytes(generator.cache.save(0))
    for at in range(0, count, 3):
        left = [at]

        def stop_later(_, left=left):
            if left[0] == 0:
                generator.stop()
            left[0] -= 1

        generator.model.watch(stop_later)
        try:
            generator.feed(0, made[-1:])
        except mpk.Stop:
            pass
        else:  # it was at its end; what stops the next call must not
            generator.resume()
            generator.model[KV + "popn"](generator.cache, 0, 1)
        generator.model.watch(None)
        assert bytes(generator.cache.save(0))[:200] == saved[:200]
    assert made + tokens_of(generator, 0, made[-1:], 9) == WANTED


def test_a_watcher_ends_a_call_with_what_it_raises(decoder):
    generator, made = begun(decoder, 1)

    class Own(Exception):
        pass

    def fail(event):
        if event.name.startswith("fused") or event.kind == "kernel":
            raise Own(event.name)

    generator.model.watch(fail)
    with pytest.raises(Own):
        generator.model.embed(np.array([1], "int32"))

    def stop(event):
        raise mpk.Stop("enough")

    generator.model.watch(stop)
    with pytest.raises(mpk.Stop, match="enough"):
        generator.model.embed(np.array([1], "int32"))
    generator.model.watch(None)
    assert made + tokens_of(generator, 0, made[-1:], 11) == WANTED
    with pytest.raises(TypeError):
        generator.model.watch(3)


def test_a_watcher_sees_values_and_skips_kernels():
    model, x = mpk.open(RELAX / "gelu.so"), np.load(RELAX / "gelu.in0.npy")
    kept = []
    model.watch(kept.append, values=True)
    given = model.forward(x)
    model.watch(None)
    kernels = [e for e in kept if e.kind == "kernel" and e.is_end]
    assert kernels and np.array_equal(kernels[-1].args[-1], given)  # a copy, good after the call
    assert np.array_equal(kernels[0].args[0], x)
    names = []

    def skip(event):
        names.append((event.name, event.is_end))
        return 2

    model.watch(skip)
    model.forward(x)
    model.watch(None)
    assert [e.name for e in kernels] == [n for n, is_end in names if not is_end and n in {e.name for e in kernels}]
    assert not any(is_end for n, is_end in names if n in {e.name for e in kernels})
    assert np.array_equal(model.forward(x), given)


def test_one_state_in_two_calls_at_a_time_is_refused_and_not_corrupted(decoder):
    generator = generate.Generator(decoder, sequences=8)
    generator.add(0)
    made = tokens_of(generator, 0, PROMPT, 5)
    forks, removes = ([generator.model[KV + name].session() for _ in range(4)] for name in ("fork_sequence", "remove_sequence"))
    unexpected = []

    def use(i):
        for _ in range(300):
            for f, args in ((forks[i], (0, 10 + i, -1)), (removes[i], (10 + i,))):
                while True:
                    try:
                        f(generator.cache, *args)
                        break
                    except RuntimeError as why:
                        if "in use" not in str(why):
                            unexpected.append(why)
                            return

    threads = [threading.Thread(target=use, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not unexpected
    assert made + tokens_of(generator, 0, made[-1:], 7) == WANTED


def test_functions_are_arguments():
    mpk.register("test.vm.identity", lambda x, out: out.__setitem__(slice(None), x))
    mpk.register("test.vm.add", lambda x, y: x + y)
    model = mpk.open(RELAX / "registered.so")
    x = np.ones([2 if n < 0 else n for n in model.add.inputs[0].shape], "float32")
    invoke = model["vm.builtin.invoke_closure"]
    seen = []
    assert invoke.call_whole(lambda *args: seen.append(args) or 7, 1, "two", mpk.shape(3)) == 7
    assert seen == [(1, "two", (3,))]
    assert np.array_equal(invoke(model.add, x, x), x + x)

    class Own(Exception):
        pass

    def fail():
        raise Own()

    with pytest.raises(Own):
        invoke(fail)
    mpk.unregister("test.vm.identity")
    mpk.unregister("test.vm.add")


def test_a_language_model_says_what_it_is(decoder):
    model = mpk.open(decoder)
    assert "model_type" in json.loads(model.metadata())
    assert mpk.open(RELAX / "gelu.so").metadata() is None
    needs = {r["name"]: r for r in model.requirements()}
    assert all(r["is_met"] for r in needs.values())
    assert any(r["kind"] == "state" for r in needs.values())
    assert needs["vm.builtin.shape_of"]["kind"] == "function" if "vm.builtin.shape_of" in needs else True
    before = model.memory_now()["cache_bytes"]
    generator = generate.Generator(decoder)
    assert generator and before == 0


def test_caches_count_against_the_budget(decoder):
    model = mpk.open(decoder)
    sizes = [mpk.shape(n) for n in (1, 64, 32, 16, 0)]
    cache = model.create_paged_kv_cache(*sizes)
    used = model.memory_now()
    need = model.memory_need()
    assert 0 < used["cache_bytes"] <= used["used_bytes"]
    assert need["weight_bytes"] > 0
    with pytest.raises(mpk.BudgetError):
        mpk.open(decoder, budget=used["cache_bytes"] - 1).create_paged_kv_cache(*sizes)
    del cache
    assert model.memory_now()["cache_bytes"] == 0
