# SPDX-License-Identifier: Apache-2.0
"""Values of GGUF's blocks: figures and differences are those of what the gguf package makes of random blocks, and of a
model that it writes and quantizes."""
import json
import math

import numpy
import pytest

gguf = pytest.importorskip("gguf", reason="gguf could not be installed")

# where the float16 numbers of a block lie; all other bits may be anything (IQ1_M: its number is in four pieces)
TYPES = {"MXFP4": [], "NVFP4": [], "IQ1_S": [0], "IQ1_M": [], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
         "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64]}
ROWS, BLOCKS = 11, 9  # of which no product is a multiple of a run


def kind(name):
    return gguf.GGMLQuantizationType[name]


def write(path, tensors):
    """tensors: by name, the bytes as rows and the name of their type."""
    writer = gguf.GGUFWriter(str(path), "llama")
    for name, (raw, of) in tensors.items():
        writer.add_tensor(name, raw, raw_dtype=kind(of))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {name: gguf.quants.dequantize(raw, kind(of)).astype("float64") for name, (raw, of) in tensors.items()}


def random_blocks(rng, name, scale):
    _, size = gguf.GGML_QUANT_SIZES[kind(name)]
    raw = rng.integers(0, 256, (ROWS, BLOCKS, size), dtype="uint8")
    for at in TYPES[name]:
        numbers = (rng.standard_normal((ROWS, BLOCKS)) * scale).astype("float16")
        raw[:, :, at:at + 2] = numbers.view("uint8").reshape(ROWS, BLOCKS, 2)
    if name == "MXFP4":
        raw[:, :, 0] = rng.integers(100, 130, (ROWS, BLOCKS))  # its exponent: values stay finite
        raw[0, :4, 0] = 0, 1, 2, 3
    if name == "IQ1_M":  # four bits of its number in each of four words
        numbers = (rng.standard_normal((ROWS, BLOCKS)) * scale).astype("float16").view("uint16")
        for i in range(4):
            raw[:, :, 49 + 2 * i] = raw[:, :, 49 + 2 * i] & 15 | (numbers >> 4 * i & 15) << 4
    return raw.reshape(ROWS, -1)


def scales_of(name, raw):
    """The scales of blocks, as the types define them."""
    blocks = raw.reshape(ROWS * BLOCKS, -1)
    if name == "MXFP4":
        return 2.0 ** (blocks[:, 0].astype("float64") - 127)
    if name == "NVFP4":
        return 2 * gguf.quants.NVFP4.ue4m3_to_fp32(blocks[:, :4]).astype("float64")
    if name == "IQ1_M":
        pieces = blocks[:, 48:56].copy().view("uint16") >> 12
        return (pieces << numpy.array([0, 4, 8, 12], dtype="uint16")).sum(axis=1).astype("uint16").view("float16")
    return blocks[:, TYPES[name][0]:TYPES[name][0] + 2].copy().view("float16")


def figures(minspect, path):
    return {t["name"]: t["statistics"] for t in json.loads(minspect("stats", "--json", path).stdout)["files"][0]["tensors"]}


def same_figures(got, values):
    assert (got["min"], got["max"], got["zeros"]) == (values.min(), values.max(), (values == 0).sum())
    assert math.isclose(got["mean"], values.mean(), rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(got["deviation"], values.std(), rel_tol=1e-9)
    _, exponents = numpy.frexp(values[values != 0])
    counts = {int(e): int(n) for e, n in zip(*numpy.unique(numpy.clip(exponents, -23, 16), return_counts=True))}
    assert {bin["below_exponent"]: bin["count"] for bin in got["magnitudes"]} == counts


def same_difference(got, old, new):
    gap, elements = abs(old - new), got["elements"]
    distance = elements["distance"]
    assert (elements["count"], elements["differing"]) == (gap.size, (gap > 0).sum())
    assert (distance["max_abs"], distance["max_at"]) == (gap.max(), gap.argmax())
    assert math.isclose(distance["mean_abs"], gap.mean(), rel_tol=1e-12)
    assert math.isclose(distance["relative"], gap.sum() / abs(old)[gap > 0].sum(), rel_tol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_random_blocks(seed, tmp_path, minspect):
    rng = numpy.random.default_rng(seed)
    old, new = ({name: (random_blocks(rng, name, scale), name) for name in TYPES} for scale in (0.01, 0.03))
    was, now = write(tmp_path / "old.gguf", old), write(tmp_path / "new.gguf", new)
    got = figures(minspect, tmp_path / "old.gguf")
    for name, values in was.items():
        same_figures(got[name], values)
        assert not got[name]["of_scales"] and got[name]["blocks"]["count"] == ROWS * BLOCKS
        numbers = scales_of(name, old[name][0])
        scales = got[name]["blocks"]["scales"]
        assert (scales["min"], scales["max"]) == (numbers.min(), numbers.max())
    differences = json.loads(minspect("diff", "--json", tmp_path / "old.gguf", tmp_path / "new.gguf", status=1).stdout)["files"][0]["differences"]
    assert sorted(d["name"] for d in differences) == sorted(TYPES)
    for d in differences:
        same_difference(d, was[d["name"]], now[d["name"]])


def test_quantized_model(tmp_path, minspect):
    """A model in float16, float32 and as it was quantized: how far that moved each tensor."""
    rng = numpy.random.default_rng(9)
    names = ["blk.0.attn_q.weight", "blk.0.ffn_up.weight", "output.weight"]
    plain = {name: rng.standard_normal((24, 512)).astype("float32") * 0.05 for name in names}
    half = write(tmp_path / "half.gguf", {name: (v.astype("float16"), "F16") for name, v in plain.items()})
    packed = {name: (gguf.quants.quantize(v, kind(of)), of) for (name, v), of in zip(plain.items(), ("Q4_0", "Q5_1", "Q8_0"))}
    want = write(tmp_path / "packed.gguf", packed)
    for name, got in figures(minspect, tmp_path / "packed.gguf").items():
        same_figures(got, want[name])
    answer = json.loads(minspect("diff", "--json", tmp_path / "half.gguf", tmp_path / "packed.gguf", status=1).stdout)["files"][0]
    assert [d["name"] for d in answer["differences"]] == names
    for d, of in zip(answer["differences"], ("Q4_0", "Q5_1", "Q8_0")):
        assert d["text"].startswith(f"F16 -> {of}: ")
        same_difference(d, half[d["name"]], want[d["name"]])
    relative = [d["elements"]["distance"]["relative"] for d in answer["differences"]]
    assert relative[0] > relative[1] > relative[2] and relative[2] < 0.01
