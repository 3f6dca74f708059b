# a program for the Relay VM, packed with kernels in C: recursion over a list, sizes that are computed,
# a kernel that calls a global function, constants that are bound later
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >program.py <<'END'
from relay_program import *

functions = [
    # build(n, x, list): n pairs (x, list)
    function("build", 9, ["n", "x", "list"], [0] * 3, instr(LOAD_CONSTI, 0, 3), instr(IF, 0, 3, 1, 2),
             instr(RET, 2), *tensor(0, INT64, (), 5, 4), packed(0, [0], 5),
             instr(ALLOC_ADT, 7, 2, 6, 1, 2), instr(INVOKE, 0, 3, 7, 5, 1, 6), instr(RET, 7)),
    # main(n, x) = build(n, x, ())
    function("main", 5, ["n", "x"], [0] * 2, instr(ALLOC_ADT, 0, 0, 2),
             instr(INVOKE, 0, 3, 3, 0, 1, 2), instr(RET, 3)),
    # order(x): the indices that sort x, as many as it has elements
    function("order", 9, ["x"], [0], instr(SHAPE_OF, 0, 1), *tensor(0, INT64, (), 3, 2),
             packed(1, [1], 3), storage(0, INT32, (), 4, 3), instr(LOAD_CONSTI, 0, 5),
             instr(ALLOC_TENSOR_REG, 4, 5, 1, *INT32, 6), instr(KILL_REGISTER, 4),
             packed(2, [0], 6), instr(RET, 6)),
    function("late", 2, ["x"], [0], instr(LOAD_CONST, 0, 0, 1), instr(RET, 1)),
]
open("program.bin", "wb").write(executable(
    ["build", "main", "order", "late"], functions, ["decrement", "bytes_of", "argsort"],
    constants=[late_constant("weight")], on=[0]))
END
PYTHONPATH="$ROOT/tests/manual" PYTHONDONTWRITEBYTECODE=1 python3 program.py
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

# the constant that is bound later, from a file of parameters
python3 -c "
import struct
values = [7, 8]
out = struct.pack('<QQQQ6sQ', 0xF7E58D4F05049CB7, 0, 1, 6, b'weight', 1)
out += struct.pack('<QQiiiBBHqq', 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 2, 8) + struct.pack('<2f', *values)
open('weight.params', 'wb').write(out)
"
minspect --run late made.so --params weight.params --input 1xf32=1

# each instruction: recursion, a condition, tuples of tuples
minspect --run main made.so --input '[]i64=1' --input 2xf32=1,2 --trace 2>&1
