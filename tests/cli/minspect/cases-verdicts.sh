# failing is not skipping: a missing device skips, a launch that a device refuses fails, and says where
minspect --devices | grep -q opencl || { echo "no OpenCL driver"; exit 77; }
cat >scale.cl <<'END'
__kernel void scale(__global float *y, int n) { int i = get_global_id(0); if (i < n) y[i] *= 2; }
END
cat >k.toml <<'END'
[package]
name = "k"
root = "cl"
[[module]]
id = "cl"
kind = "opencl"
data = "scale.cl"
format = "cl"
[[module.function]]
name = "scale"
args = ["handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
END
mpack build k.toml -o k.so
# the table then says int64 where the source says int
LC_ALL=C sed 's/\x00\x20\x01\x00/\x00\x40\x01\x00/' k.so >wrong.so
minspect --functions wrong.so | grep 'scale('
cat >m.toml <<'END'
[[case]]
name = "right"
run = "scale"
device = "opencl"
grid = [1]
block = [4]
args = [{ out = "4xf32=1" }, { input = "i32=4" }]
expect = ["4xf32=2"]

[[case]]
name = "a block of a million"
run = "scale"
device = "opencl"
block = [1000000]
args = [{ out = "4xf32=1" }, { input = "i32=4" }]

[[case]]
name = "no such device"
run = "scale"
device = "opencl:77"
block = [4]
args = [{ out = "4xf32=1" }, { input = "i32=4" }]

[[case]]
name = "not now"
run = "scale"
block = [4]
args = [{ out = "4xf32=1" }, { input = "i32=4" }]
skip = "on Mondays"
END
sed 's/i32=/i64=/' m.toml >m64.toml
try() {
	minspect --cases m.toml "$@" 2>&1 || echo $?
}
masked() {
	sed "s/'[^']*' allows at most [0-9]*/DEVICE allows at most N/; s/there [ai].*/THERE/"
}
try k.so | masked
minspect --cases m64.toml wrong.so --filter right || echo $?
try k.so --no-skip --filter 'no*' | masked
try k.so --filter 'not' | masked
try k.so --filter Right
