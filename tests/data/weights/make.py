# SPDX-License-Identifier: Apache-2.0
"""Writes the files of this folder by the packages that own their formats.

    python3 make.py         needs numpy, safetensors, gguf, ml_dtypes and apache-tvm

The tensors are the same in all: a, b, c, of the numbers below.
"""
import json
import pathlib

import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants
from safetensors.numpy import save_file
from tvm.contrib import tvmjs

here = pathlib.Path(__file__).parent
a = (np.arange(12, dtype="float32") / 4).reshape(3, 4)
b = np.array([7, -8], "int64")
c = np.array([1.5, -2.5, 3.0], "float16")
small = {"a": a, "b": b, "c": c}

save_file(small, here / "small.safetensors", metadata={"format": "np", "step": "12"})
save_file({k: np.array(v, t) for k, v, t in [
    ("bf16", [1, -2], ml_dtypes.bfloat16), ("f8", [1, -2], ml_dtypes.float8_e4m3fn), ("bool", [True, False], "bool"),
    ("u8", [1, 255], "uint8"), ("i16", [-1, 1], "int16"), ("f64", [0.5], "float64"), ("scalar", 3, "uint32"),
    ("empty", np.zeros((0, 3)), "float32")]}, here / "types.safetensors")
save_file({"a": a}, here / "model-00001-of-00002.safetensors")
save_file({"b": b, "c": c}, here / "model-00002-of-00002.safetensors")
(here / "model.safetensors.index.json").write_text(json.dumps({
    "metadata": {"total_size": a.nbytes + b.nbytes + c.nbytes},
    "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
                   "c": "model-00002-of-00002.safetensors"}}, indent=2) + "\n")

np.savez(here / "small.npz", **small)

w = GGUFWriter(here / "small.gguf", "llama")
w.add_name("small")
w.add_array("tokenizer.ggml.tokens", [f"t{i}" for i in range(20)])
w.add_float32("llama.rope.freq_base", 10000.0)
w.add_bool("tokenizer.ggml.add_bos_token", True)
w.add_tensor("a", a)
w.add_tensor("b", b)
w.add_tensor("c", c)
w.add_tensor("q", quants.quantize(np.arange(64, dtype="float32").reshape(2, 32), GGMLQuantizationType.Q8_0),
             raw_dtype=GGMLQuantizationType.Q8_0)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()

tvmjs.dump_tensor_cache(small, str(here / "cache"), "raw", {"ParamSize": 3}, show_progress=False)
tvmjs.dump_tensor_cache({"a": a + 1 / 512, "b": b}, str(here / "cache-bf16"), show_progress=False)
