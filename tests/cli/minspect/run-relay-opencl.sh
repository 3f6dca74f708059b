# a program of the Relay VM on two devices: parameters and constants go where they belong, conditions come
# back to the host, results are fetched
export POCL_CACHE_DIR="$PWD/cache"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
cat >program.py <<'END'
from relay_program import *

TURNED, SHAPE = (3, 2), (2, 3)
# main(c, x) on OpenCL, device 0; c is a number there. y = x turned; if c == 1: z = y turned else z = w,
# a constant on the device; u = a copy of z on the host; return (y, z, u)
main = function(
    "main", 12, ["c", "x"], [0, 0], *tensor(0, FLOAT32, TURNED, 3, 2), packed(0, [1], 3),
    instr(LOAD_CONSTI, 1, 4), instr(IF, 0, 4, 1, 8), *tensor(0, FLOAT32, SHAPE, 6, 5),
    packed(0, [3], 6), instr(MOVE, 6, 7), instr(GOTO, 2), instr(LOAD_CONST, 0, 0, 7),
    instr(DEVICE_COPY, 7, 0, 1, 8), instr(ALLOC_ADT, 0, 3, 9, 3, 7, 8), instr(RET, 9))
# straight(x): twice turned, without a condition
straight = function(
    "straight", 12, ["x"], [0], *tensor(0, FLOAT32, TURNED, 2, 1), packed(0, [0], 2),
    *tensor(0, FLOAT32, SHAPE, 4, 3), packed(0, [2], 4), instr(RET, 4))
open("program.bin", "wb").write(executable(
    ["main", "straight"], [main, straight], ["transpose"], devices=(4, 1), host=1,
    constants=[float_constant(SHAPE, [9, 8, 7, 6, 5, 4])], on=[0]))
END
PYTHONPATH="$ROOT/tests/manual" PYTHONDONTWRITEBYTECODE=1 python3 program.py
sed -e 's/^name = "launch"/&\nabi = "legacy"\nroot = "model"/' \
	-e "s|^data = \"|&$DATA/launch/|" "$DATA/launch/opencl.toml" >mpack.toml
cat >>mpack.toml <<'END'

[[module]]
id      = "model"
kind    = "VMExecutable"
payload = "program.bin"
imports = ["host"]
[[module]]
id      = "host"
kind    = "host"
imports = ["k"]
END
mpack build -o f.so
for device in opencl opencl:0; do
	minspect --run main f.so --device $device --input '[]i32=1' --input 2x3xf32=1,2,3,4,5,6 --repeat 3 \
		--expect 3x2xf32=1,4,2,5,3,6 --expect 2x3xf32=1,2,3,4,5,6 --expect 2x3xf32=1,2,3,4,5,6 >/dev/null
done
minspect --run main f.so --input c='[]i32=0' --input x=2x3xf32=1,2,3,4,5,6 \
	--expect ignored --expect 2x3xf32=9,8,7,6,5,4 --expect 2x3xf32=9,8,7,6,5,4
minspect --run straight f.so --input 2x3xf32=1,2,3,4,5,6 --repeat 10 --expect 2x3xf32=1,2,3,4,5,6 | head -1
minspect --run straight f.so --device cpu --input 2x3xf32=1 2>&1 || echo "exit $?"
