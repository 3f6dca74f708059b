# values quantized in groups, as MLC LLM packs them: figures and differences are those of what the words stand for
cat >make.py <<'END'
import json, math, random, struct
random.seed(7)
half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]

def quantize(rows, bits, group):
    """Words and scales of a matrix, groups along its rows, and the values that come back."""
    top, each = 2 ** (bits - 1) - 1, 32 // bits
    words, scales, back = [], [], []
    for row in rows:
        words.append([]), scales.append([]), back.append([])
        for at in range(0, len(row), group):
            part = row[at:at + group]
            scale = half(max(map(abs, part)) / top)
            stored = [min(max(round(v / scale + top), 0), 2 * top) for v in part]
            scales[-1].append(scale)
            back[-1] += [(s - top) * scale for s in stored]
            for i in range(0, group, each):
                words[-1].append(sum(s << bits * k for k, s in enumerate(stored[i:i + each])))
    return words, scales, back

def turn(matrix):
    return [list(column) for column in zip(*matrix)]

def write(path, tensors):
    head, data = {}, b""
    for name, (dtype, code, rows) in tensors.items():
        raw = b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in rows)
        head[name] = {"dtype": dtype, "shape": [len(rows), len(rows[0])], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)

rows = [[random.gauss(0, 0.02) for _ in range(192)] for _ in range(24)]
moved = [[v + (0.004 if i == 3 else 0) for v in row] for i, row in enumerate(rows)]
want = {}
for path, matrix in (("old", rows), ("new", moved)):
    tensors = {}
    for name, bits, group, turned in (("nk", 4, 32, False), ("kn", 4, 32, True), ("wide", 4, 64, False), ("int8", 8, 32, False)):
        words, scales, back = quantize(matrix, bits, group)
        want.setdefault(name, {})[path] = [v for row in back for v in row]
        tensors[f"{name}.q_weight"] = ("U32", "I", turn(words) if turned else words)
        tensors[f"{name}.q_scale"] = ("F16", "e", turn(scales) if turned else scales)
    # what is none: no scales, scales of another shape, values of 3 bits
    tensors["alone.q_weight"] = ("U32", "I", [[0xffffffff, 0, 1, 2]])
    tensors["odd.q_weight"] = ("U32", "I", [[0x76543210] * 6])
    tensors["odd.q_scale"] = ("F16", "e", [[1.0] * 4])
    tensors["three.q_weight"] = ("U32", "I", [[0x1b6db6d9] * 4])
    tensors["three.q_scale"] = ("F16", "e", [[1.0]])
    write(f"{path}.safetensors", tensors)
json.dump(want, open("want.json", "w"))
END
python3 make.py
minspect stats old.safetensors
minspect stats --json old.safetensors >got.json
minspect diff --json old.safetensors new.safetensors >diff.json || echo "status $?"
minspect diff old.safetensors new.safetensors | cut -d: -f1-2
cat >compare.py <<'END'
import json, math
want = json.load(open("want.json"))
near = lambda a, b: math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15)
seen = 0
for t in json.load(open("got.json"))["files"][0]["tensors"]:
    name, _, kind = t["name"].partition(".")
    if kind != "q_weight" or name not in want:
        assert "quantized" not in t["statistics"], t["name"]
        continue
    values, s = want[name]["old"], t["statistics"]
    mean = math.fsum(values) / len(values)
    assert near(s["min"], min(values)) and near(s["max"], max(values)) and near(s["mean"], mean), name
    assert near(s["deviation"], math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))), name
    assert s["zeros"] == sum(v == 0 for v in values), name
    print(name, s["quantized"])
    seen += 1
for d in json.load(open("diff.json"))["files"][0]["differences"]:
    name, _, kind = d["name"].partition(".")
    if kind == "q_weight":
        a, b, e = want[name]["old"], want[name]["new"], d["elements"]
        gaps = [abs(x - y) for x, y in zip(a, b)]
        assert e["count"] == len(a) and e["differing"] == sum(g > 0 for g in gaps), name
        assert near(e["distance"]["max_abs"], max(gaps)), name
        assert near(e["distance"]["mean_abs"], math.fsum(gaps) / len(gaps)), name
        assert near(e["distance"]["relative"], math.fsum(gaps) / math.fsum(abs(x) for x, g in zip(a, gaps) if g)), name
        seen += 1
print(seen, "tensors agree")
END
python3 compare.py
