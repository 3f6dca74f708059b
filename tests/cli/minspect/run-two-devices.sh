# a model on two devices: each input goes where it is asked for, by the text of its check or by the kernels that
# it flows into, and where the call says when nothing else does
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
cat >model.py <<'END'
from writer import FLOAT, dtype, i32, i64, many, text, texts, u64

PACKED = ["double", "mul", "vm.builtin.alloc_storage", "vm.builtin.alloc_tensor", "vm.builtin.to_device",
          "vm.builtin.check_tensor_info", "vm.builtin.tuple_getitem", "vm.builtin.check_tuple_info"]
VM, VOID, CPU, OPENCL = (1 << 54) + 1, 1 << 54, 1, 4
code, functions, constants = [], [], []

def imm(value):
    return 1 << 56 | value

def const(tag, value):
    if (tag, value) not in constants:
        constants.append((tag, value))
    return 2 << 56 | constants.index((tag, value))

F32, BYTES, FOUR = const(5, FLOAT), const(5, dtype(1, 8)), const(69, many(i64(4)))

def call(dst, name, *args):
    code.append([1, dst, len(NAMES) + PACKED.index(name), len(args), *args])

def tensor(dst, device):
    call(dst, "vm.builtin.alloc_storage", VM, const(69, many(i64(16))), imm(device), BYTES)
    call(dst, "vm.builtin.alloc_tensor", dst, imm(0), FOUR, F32)

def told(function, number, annotation):
    return const(65, text(f"ErrorContext(fn={function}, loc=param[{number}], param={'xy'[number]}, "
                          f"annotation={annotation}) "))

def on(kind):
    return f'R.Tensor((4,), dtype="float32", vdevice="{kind}:-1:global")'

def check(function, number, kind):
    call(VOID, "vm.builtin.check_tensor_info", number, imm(1), F32, told(function, number, on(kind)))

def body(x, y, device, host):
    """(2 x) on the device, times y on the host"""
    tensor(3, device)
    call(VOID, "double", x, 3)
    call(4, "vm.builtin.to_device", 3, imm(CPU), imm(0))
    tensor(5, host)
    call(VOID, "mul", 4, y, 5)
    code.append([2, 5])

def end(name, start, params):
    functions.append(i32(1) + text(name) + i64(start, len(code), len(params), 8) + texts(*params))

NAMES = ["told", "silent", "turned", "both", "tuple", "free", "calls"]
at = len(code); check("told", 0, "opencl"); check("told", 1, "llvm"); body(0, 1, 0, 1); end("told", at, "xy")
at = len(code); body(0, 1, 0, 1); end("silent", at, "xy")
# the numbers of devices are those of a list that the model has: here the CPU is the first
at = len(code); body(0, 1, 1, 0); end("turned", at, "xy")
at = len(code)
call(1, "vm.builtin.to_device", 0, imm(OPENCL), imm(0)); body(1, 0, 0, 1); end("both", at, "x")
at = len(code)
text_ = told("tuple", 0, f"R.Tuple({on('opencl')}, {on('llvm')})")
call(VOID, "vm.builtin.check_tuple_info", 0, imm(2), text_)
call(1, "vm.builtin.tuple_getitem", 0, imm(0)); call(2, "vm.builtin.tuple_getitem", 0, imm(1))
body(1, 2, 0, 1); end("tuple", at, "x")
at = len(code); code.append([2, 0]); end("free", at, "x")
at = len(code); code.append([1, 2, NAMES.index("silent"), 2, 1, 0]); code.append([2, 2]); end("calls", at, "yx")

def save(path):
    packed = [i32(0) + text(n) + i64(0, 0, -2, 0) + many() for n in PACKED]
    offsets = [sum(map(len, code[:i])) for i in range(len(code))]
    open(path, "wb").write(
        u64(0xD225DE2F4214151D) + text("0.14") + many(*functions, *packed)
        + many(*(i32(tag) + value for tag, value in constants)) + many(*map(i64, offsets))
        + many(*(i64(w) for words in code for w in words)))

# of one program the numbers mean one list, so what numbers otherwise is another program
empty = lambda name: i32(1) + text(name) + i64(len(code) - 1, len(code), 1, 8) + texts("x")
code.append([2, 0])
every = functions[:]
functions = [empty(n) if n == "turned" else f for n, f in zip(NAMES, every)]
save("model.bin")
functions = [f if n == "turned" else empty(n) for n, f in zip(NAMES, every)]
save("turned.bin")
END
PYTHONPATH="$ROOT/tests/manual" PYTHONDONTWRITEBYTECODE=1 python3 model.py
cat >k.cl <<'END'
__kernel void twice(__global const float *x, __global float *y) { int i = get_global_id(0); y[i] = 2 * x[i]; }
END
cat >host.c <<'END'
#include <stdint.h>
typedef struct { int32_t type, zero; union { int64_t i; void *p; } as; } Any;
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t dtype[4]; int64_t *shape, *strides;
	uint64_t offset; } Tensor;
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
static Tensor *tensor(const Any *a)
{
	return a->type == 7 ? a->as.p : (Tensor *)((char *)a->as.p + 24);
}
int __tvm_ffi_mul(void *self, const Any *args, int n, Any *result)
{
	Tensor *t[3] = { tensor(&args[0]), tensor(&args[1]), tensor(&args[2]) };

	for (int k = 0; k < 3; k++)
		if (t[k]->device[0] != 1) {
			TVMFFIErrorSetRaisedFromCStr("ValueError", "Mismatched mul.device_type, expected cpu");
			return -1;
		}
	for (int i = 0; i < 4; i++)
		((float *)t[2]->data)[i] = ((float *)t[0]->data)[i] * ((float *)t[1]->data)[i];
	return 0;
}
END
for model in model turned; do
	cat >mpack.toml <<-END
	[package]
	name = "two"
	root = "model"
	[[module]]
	id      = "model"
	kind    = "relax.VMExecutable"
	payload = "$model.bin"
	imports = ["host"]
	[[module]]
	id      = "host"
	kind    = "host"
	sources = ["host.c"]
	imports = ["k"]
	[[module]]
	id   = "k"
	kind = "opencl"
	data = "k.cl"
	  [[module.function]]
	  name   = "twice"
	  args   = ["handle", "handle"]
	  launch = ["blockIdx.x", "threadIdx.x"]
	[[function]]
	name   = "double"
	kernel = "k.twice"
	params = ["x: in float32[n]", "y: out float32[n]"]
	args   = ["x", "y"]
	grid   = ["n"]
	block  = [1]
	END
	mpack build -o $model.so
done
run() { minspect --run "$@" 2>&1 || echo "exit $?"; }
x=4xf32=1,2,3,4 y=4xf32=5
# the listing's own lines work
minspect --functions model.so | sed -n '/^  told/,+1p'
eval "$(minspect --functions model.so | sed -n 's/rand/1/g; s/^    \(minspect run told .*\)/\1/p')"
run told model.so --input $x --input $y
run told model.so --input $x --input $y --repeat 3 | head -1
run told model.so --input $x --input $y --device opencl
run told model.so --input $x@opencl --input $y@cpu
run told model.so --input $x --input $y@opencl
run told model.so --input $x@cpu --input $y
run both model.so --input $x
run both model.so --input $x@opencl
run tuple model.so --input "($x; $y)"
run turned turned.so --input $x@opencl --input $y@cpu
# without texts the kernels tell: that of OpenCL here, not the one in C
run silent model.so --input $x@cpu --input $y@cpu
run silent model.so --input $x --input $y@cpu
run silent model.so --input $x --input $y
run calls model.so --input $y@cpu --input $x
# where nothing is asked for, the call decides; what is no tensor is nowhere
run free model.so --input $x@cpu --trace
run free model.so --input $x --trace
run free model.so --input i64=5@cpu
run free model.so --input str=5@cpu
printf '\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0' >x@cpu
run free model.so --input 4xi32=@x@cpu@opencl --trace
run free model.so --input 4xi32=@x@cpu --trace 2>&1 | sed 's/.*error: //'
run double model.so --input $x --out 4xf32@cpu
run mul model.so --input $x@cpu --input $y@cpu --out 4xf32@cpu
cat >cases.toml <<END
[[case]]
run = "told"
args = [{ input = "$x" }, { input = "$y" }]
expect = ["4xf32=10,20,30,40"]
[[case]]
run = "silent"
args = [{ input = "$x" }, { input = "$y@cpu" }]
expect = ["4xf32=10,20,30,40"]
[[case]]
run = "told"
args = [{ input = "$x@cpu" }, { input = "$y" }]
raises = "asks for its input 0, 'x', on opencl"
END
minspect --cases cases.toml model.so || echo "exit $?"
