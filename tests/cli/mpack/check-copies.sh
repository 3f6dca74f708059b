# OpenCL source is stored once for each kernel: said when that is much, with what helps
write() {
	cat <<END
[package]
name = "m"
[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
END
	for i in $(seq "$1"); do
		printf '[[module.function]]\nname = "f%d"\nargs = ["handle"]\nlaunch = ["blockIdx.x"]\n' "$i"
	done
}
for i in $(seq 150); do
	echo "__kernel void f$i(__global float *x) { x[get_global_id(0)] = $i; }"
done >k.cl
write 150 >m.toml
mpack check m.toml 2>&1
write 20 >few.toml
mpack check few.toml 2>&1
# divided, it is stored once
sed 's/__kernel void \(f[0-9]*\)(/\/\/ Function: \1\n&/' k.cl >divided.cl
sed 's/k\.cl/divided.cl/' m.toml >divided.toml
mpack check divided.toml 2>&1
