# values of GGUF's blocks of each type; that the numbers are right, tests/interop/test_weights.py finds with the gguf package
cat >make.py <<'END'
import random, struct, sys
random.seed(11)
TYPES = [("Q4_0", 2, 32, 18, (0,)), ("Q4_1", 3, 32, 20, (0, 2)), ("Q5_0", 6, 32, 22, (0,)), ("Q5_1", 7, 32, 24, (0, 2)),
         ("Q8_0", 8, 32, 34, (0,)), ("Q2_K", 10, 256, 84, (80, 82)), ("Q3_K", 11, 256, 110, (108,)), ("Q4_K", 12, 256, 144, (0, 2)),
         ("Q5_K", 13, 256, 176, (0, 2)), ("Q6_K", 14, 256, 210, (208,)), ("IQ4_NL", 20, 32, 18, (0,)), ("IQ4_XS", 23, 256, 136, (0,)),
         ("TQ1_0", 34, 256, 54, (52,)), ("TQ2_0", 35, 256, 66, (64,)), ("IQ2_XXS", 16, 256, 66, (0,)), ("IQ3_S", 21, 256, 110, (0,)),
         ("IQ1_S", 19, 256, 50, (0,)), ("NVFP4", 40, 64, 36, ()), ("Q1_0", 41, 128, 18, (0,)), ("F32", 0, 1, 4, ())]
def text(s): return struct.pack("<Q", len(s)) + s.encode()
def write(path, change):
    head, data = b"", b""
    for name, number, elements, size, halves in TYPES:
        rng = random.Random(name)
        blocks = [bytearray(rng.randbytes(size)) for _ in range(9)] if elements > 1 else [bytearray(struct.pack("<f", i / 8)) for i in range(96)]
        for i, block in enumerate(blocks):
            for at in halves:
                block[at:at + 2] = struct.pack("<e", rng.gauss(0, 0.01))
            if change and i == 4:
                block[size // 2] ^= 1
        head += text(name) + struct.pack("<IQQIQ", 2, 3 * elements if elements > 1 else 32, 3, number, len(data))
        data += b"".join(blocks)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(TYPES), 0) + head
    open(path, "wb").write(head + bytes(-len(head) % 32) + data)
    return [name for name, *_ in TYPES]
write("old.gguf", False)
write("new.gguf", True)
END
python3 make.py
minspect stats old.gguf | sed -n '/^tensor /,$p'
minspect stats --json old.gguf | jq -c '.files[0].tensors[] | [.name, (.statistics | .of_scales, .blocks.count, .blocks.elements)]'
minspect diff --all old.gguf new.gguf || echo "status $?"
minspect --verbose --filter Q4_K old.gguf | tail -n 1
