# a program of the Relay VM over CUDA kernels, against the driver library of the tests: no waiting between
# kernels, neither as byte code nor by its plan
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >program.py <<'END'
from relay_program import *

main = function(
    "main", 8, ["x"], [0], *tensor(0, FLOAT32, (3, 2), 2, 1), packed(0, [0], 2),
    *tensor(0, FLOAT32, (2, 3), 4, 3), packed(0, [2], 4), *tensor(0, FLOAT32, (3, 2), 6, 5),
    packed(0, [4], 6), instr(RET, 6))
open("program.bin", "wb").write(executable(["main"], [main], ["transpose"], devices=(2, 1), host=1))
END
PYTHONPATH="$ROOT/tests/manual" PYTHONDONTWRITEBYTECODE=1 python3 program.py
sed -e 's/^name = "launch"/&\nabi = "legacy"\nroot = "model"/' \
	-e "s|^data = \"|&$DATA/launch/|" -e 's/tirx\./tir./' "$DATA/launch/cuda.toml" >mpack.toml
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
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log"
for repeat in 1 3; do
	rm -f log
	minspect --run main f.so --input 2x3xf32=1,2,3,4,5,6 --expect 3x2xf32=1,4,2,5,3,6 --repeat $repeat |
		head -1
	# what steps call: as byte code memory, too; by the plan launches alone, and one wait at the end
	cut -d' ' -f1 log | grep -v cuCtxSetCurrent | uniq -c | sed 's/^ *//' |
		sed -n '/cuLaunchKernel/,/Synchronize/p' | tail -4
done
