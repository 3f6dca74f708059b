#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_graph.py OUT - inputs for fuzz_graph_executor to start from

Payloads of executor factories, one for each thing that a graph can have.
"""
import json
import os
import struct
import sys


def node(name, function=None, inputs=(), outputs=1, flatten=0):
    made = {"op": "tvm_op" if function else "null", "name": name,
            "inputs": [[n, i, 0] for n, i in inputs]}
    if function:
        made["attrs"] = {"func_name": function, "num_inputs": str(len(inputs)),
                         "num_outputs": str(outputs), "flatten_data": str(flatten)}
    return made


def graph(nodes, heads, shapes, storages, dtypes=None, **more):
    rows = [0]
    for n in nodes:
        rows.append(rows[-1] + int(n.get("attrs", {}).get("num_outputs", 1)))
    attrs = {"dltype": ["list_str", dtypes or ["float32"] * rows[-1]],
             "storage_id": ["list_int", storages], "shape": ["list_shape", shapes]}
    attrs.update(more)
    return {"nodes": nodes, "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"],
            "heads": [[n, i, 0] for n, i in heads], "node_row_ptr": rows, "attrs": attrs}


def text(data):
    return struct.pack("<Q", len(data)) + data


def tensor(shape, data):
    return (struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, len(shape)) +
            struct.pack("<BBH", 2, 32, 1) + struct.pack(f"<{len(shape)}q", *shape) + text(data))


def payload(made, params=()):
    out = text(json.dumps(made, separators=(",", ":")).encode())
    out += struct.pack("<QQ", len(params), len(params))
    out += b"".join(text(name.encode()) for name, _, _ in params)
    out += b"".join(tensor(shape, data) for _, shape, data in params)
    return out + text(b"default")


def seeds():
    x, w = node("x"), node("w")
    yield "add", payload(graph([x, w, node("o", "add", [(0, 0), (1, 0)])], [(2, 0)],
                               [[4]] * 3, [0, 1, 2]), [("w", [4], bytes(16))])
    yield "inside", payload(graph([x, node("o", "twice", [(0, 0)])], [(1, 0)], [[4]] * 2, [0, 0]))
    yield "reshape", payload(graph([x, node("r", "__nop", [(0, 0)]),
                                    node("o", "twice", [(1, 0)], flatten=1)],
                                   [(2, 0), (1, 0), (0, 0)], [[4], [2, 2], [2, 2]], [0, 0, 1]))
    yield "copy", payload(graph([x, node("c", "__copy", [(0, 0)])], [(1, 0)], [[4]] * 2, [0, 1],
                                device_index=["list_int", [1, 1]],
                                storage_scope=["list_str", ["", "global"]]))
    yield "several", payload(graph([x, node("b", "both", [(0, 0)], outputs=2),
                                    node("o", "add", [(1, 0), (1, 1)])],
                                   [(2, 0), (1, 1), (1, 1)], [[0, 3]] * 4, [0, 1, 2, 3],
                                   ["bool", "float16", "int8x4", "int4"]))


def main(out):
    out = os.path.join(out, "fuzz_graph_executor")
    os.makedirs(out, exist_ok=True)
    for name, data in seeds():
        with open(f"{out}/{name}", "wb") as f:
            f.write(data)


main(sys.argv[1])
