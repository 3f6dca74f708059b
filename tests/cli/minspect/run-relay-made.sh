# a program for the Relay VM, packed with kernels in C: recursion over a list, sizes that are computed,
# a kernel that calls a global function, constants that are bound later
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >program.py <<'END'
import struct

U, M = struct.Struct("<Q").pack, (1 << 64) - 1
MOVE, RET, INVOKE, PACKED, TENSOR, TENSOR_REG, ADT, FIELD, IF = 0, 1, 2, 4, 5, 6, 7, 9, 10
CONST, CONSTI, STORAGE, SHAPE_OF, KILL = 11, 14, 16, 17, 20


def text(s):
    return U(len(s)) + s.encode()


def words(values):
    return U(len(values)) + b"".join(U(v & M) for v in values)


def instr(op, *fields):
    h = op
    for f in fields:
        h ^= (f + 0x9e3779b9 + (h << 6) + (h >> 2)) & M
        h &= M
    return words([h, op, *fields])


def function(name, registers, params, *code):
    return (U(3) + text(name) + text(str(registers)) + text(str(len(code)))
            + U(len(params)) + b"".join(map(text, params)) + words([0] * len(params))
            + b"".join(code))


def scalar(dst, storage):
    """An int64 in a storage of its own; uses dst as scratch."""
    return [instr(CONSTI, 8, dst), instr(STORAGE, dst, 64, 0, 64, 1, 0, 0, storage),
            instr(CONSTI, 0, dst), instr(TENSOR, storage, dst, 0, 64, 1, 0, dst)]


functions = [
    # build(n, x, list): n pairs (x, list)
    function("build", 9, ["n", "x", "list"], instr(CONSTI, 0, 3), instr(IF, 0, 3, 1, 2),
             instr(RET, 2), *scalar(5, 4), instr(PACKED, 0, 2, 1, 0, 5), instr(ADT, 7, 2, 6, 1, 2),
             instr(INVOKE, 0, 3, 7, 5, 1, 6), instr(RET, 7)),
    # main(n, x) = build(n, x, ())
    function("main", 5, ["n", "x"], instr(ADT, 0, 0, 2), instr(INVOKE, 0, 3, 3, 0, 1, 2),
             instr(RET, 3)),
    # order(x): the indices that sort x, as many as it has elements
    function("order", 9, ["x"], instr(SHAPE_OF, 0, 1), *scalar(3, 2), instr(PACKED, 1, 2, 1, 1, 3),
             instr(STORAGE, 3, 64, 0, 32, 1, 0, 0, 4), instr(CONSTI, 0, 5),
             instr(TENSOR_REG, 4, 5, 1, 0, 32, 1, 6), instr(KILL, 4),
             instr(PACKED, 2, 2, 1, 0, 6), instr(RET, 6)),
    function("late", 2, ["x"], instr(CONST, 0, 0, 1), instr(RET, 1)),
]
body = (U(0xD225DE2F4214151D) + text("0.18.0") + U(1) + struct.pack("<ii", 1, 0) + text("")
        + struct.pack("<i", 0) + U(4) + b"".join(map(text, ["build", "main", "order", "late"]))
        + U(1) + struct.pack("<I", 1) + text("weight") + words([0])
        + U(3) + b"".join(map(text, ["decrement", "bytes_of", "argsort"])) + U(0)
        + U(len(functions)) + b"".join(functions))
with open("program.bin", "wb") as f:
    f.write(U(len(body)) + body)
END
python3 program.py
cat >kernels.c <<'END'
#include <stdint.h>
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t dtype[4]; int64_t *shape; } Tensor;
typedef union { int64_t i; void *p; } Value;
void *__tvm_module_ctx;
int (*__TVMFuncCall)(void *, Value *, int *, int, Value *, int *);
int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);
int decrement(Value *args, int *codes, int n)
{
	*(int64_t *)((Tensor *)args[1].p)->data = *(int64_t *)((Tensor *)args[0].p)->data - 1;
	return 0;
}
int bytes_of(Value *args, int *codes, int n)
{
	*(int64_t *)((Tensor *)args[1].p)->data = 4 * *(int64_t *)((Tensor *)args[0].p)->data;
	return 0;
}
int argsort(Value *args, int *codes, int n, Value *result, int *result_code)
{
	Value all[4] = { args[0], args[1], { .i = 0 }, { .i = 1 } };
	int all_codes[4] = { codes[0], codes[1], 0, 0 };
	void *sort;

	return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "tvm.contrib.sort.argsort", &sort) ||
	       __TVMFuncCall(sort, all, all_codes, 4, result, result_code);
}
END
cat >mpack.toml <<'END'
[package]
name = "made"
abi  = "legacy"
root = "model"

[[module]]
id      = "model"
kind    = "VMExecutable"
payload = "program.bin"
imports = ["host"]

[[module]]
id      = "host"
kind    = "host"
sources = ["kernels.c"]
END
mpack build -o made.so
minspect --run main made.so --input '[]i64=3' --input 2xf32=1,2
minspect --run main made.so --input n='[]i64=500' --input x=2xf32=1,2 --repeat 3 | grep -c '^2xf32=1 2$'
minspect --run order made.so --input 5xf32=3,1,2,nan,1 --expect 5xi32=1,4,2,0,3 --repeat 4 | head -1
minspect --run late made.so --input 1xf32=1 2>&1 || echo "exit $?"
minspect --run main made.so --input '[]i64=2000' --input 2xf32=1,2 2>&1 || echo "exit $?"
