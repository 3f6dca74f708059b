# What a person sees of long work on a terminal: a line that moves, which is gone at the end, and how it ended.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
mkdir many
head -c 60000000 /dev/zero | tr '\0' w >weights.bin
printf '[package]\nname = "w"\n[[module]]\nid = "w"\nkind = "weights"\npayload = "weights.bin"\n' >mpack.toml
screen() { python3 "$ROOT/tests/cli/harness/screen.py" "$@" || echo "status $?"; }
screen minspect verify data/gpu/cuda.so
# its input takes two seconds
screen --slow sh -c "(sleep 2.3; cat data/gpu/cuda.so) | minspect verify -"
screen --slow sh -c "(sleep 2.3; cat data/gpu/cuda.so) | minspect size - -o said"
screen sh -c "(sleep 1; cat data/gpu/cuda.so) | minspect -q verify -"
mpack build -o many/a.so
cp many/a.so many/b.so
screen minspect verify --progress=always many
# a command that writes a file says what it wrote
screen mpack build -o c.so --progress=always
screen mpack build -q -o d.so
screen mpack thin data/gpu/cuda.so --keep sm_90 -o thin.so
screen mpack unpack many/a.so -o folder
# kernels that tvm-ffi alone does not load
screen mpack init data/launch/kernels.cl | tail -n 3
screen mpack init -q data/launch/kernels.cl | tail -n 1
