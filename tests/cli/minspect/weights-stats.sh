# figures of each tensor: against Python's own arithmetic, exact sums included
minspect stats data/weights/small.gguf data/weights/types.safetensors
cat >make.py <<'END'
import json, math, random, struct
random.seed(5)
tensors, want = {}, {}
def put(name, code, dtype, values):
    tensors[name] = (dtype, struct.pack(f"<{len(values)}{code}", *values))
    read = struct.unpack(f"<{len(values)}{code}", tensors[name][1])
    good = [float(v) for v in read if math.isfinite(v)]
    mean = math.fsum(good) / len(good)
    want[name] = {"min": min(good), "max": max(good), "mean": mean,
                  "deviation": math.sqrt(math.fsum((v - mean) ** 2 for v in good) / len(good)),
                  "nan": sum(math.isnan(v) for v in read), "infinite": sum(math.isinf(v) for v in read),
                  "zeros": sum(v == 0 for v in read), "nonzero": sum(v != 0 for v in good)}
gauss = lambda n, mean=0.0, deviation=1.0: [random.gauss(mean, deviation) for _ in range(n)]
put("f32", "f", "F32", gauss(10001))
put("far", "f", "F32", gauss(9999, 1e4, 1e-2))     # digits are lost by a sum of squares
put("f64", "d", "F64", gauss(5000, -3, 1e-8))
put("f16", "e", "F16", gauss(5000))
put("broken", "f", "F32", gauss(4000) + [math.nan, math.inf, -math.inf, 0.0, -0.0])
put("half-broken", "e", "F16", gauss(100) + [math.nan, math.inf, 0.0])
put("i8", "b", "I8", [random.randrange(-128, 128) for _ in range(3000)])
put("i64", "q", "I64", [random.randrange(-2**40, 2**40) for _ in range(3000)])
put("huge", "f", "F32", [3e38] * 10)               # their sum is larger than any float32
head, data = {}, b""
for name, (dtype, raw) in tensors.items():
    head[name] = {"dtype": dtype, "shape": [len(raw) // {"F64": 8, "I64": 8, "F32": 4, "F16": 2, "I8": 1}[dtype]],
                  "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
head = json.dumps(head).encode()
open("made.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data)
json.dump(want, open("want.json", "w"))
END
python3 make.py
minspect stats --json made.safetensors >got.json
cat >compare.py <<'END'
import json, math
want = json.load(open("want.json"))
for t in json.load(open("got.json"))["files"][0]["tensors"]:
    got, right = t["statistics"], want.pop(t["name"])
    for key in ("min", "max", "nan", "infinite", "zeros"):
        assert got[key] == right[key], (t["name"], key, got[key], right[key])
    for key in ("mean", "deviation"):
        assert math.isclose(got[key], right[key], rel_tol=1e-9, abs_tol=1e-12), (t["name"], key, got[key], right[key])
    assert sum(b["count"] for b in got["magnitudes"]) == right["nonzero"], t["name"]
assert not want
print("equal")
END
python3 compare.py
minspect stats --filter "*broken" made.safetensors | sed -n '/elements/,$p' | cut -c1-40
minspect stats data/gpu/cuda.so || echo "status $?"
