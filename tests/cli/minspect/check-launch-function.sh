# A launch function looks its kernel up by the name that the runtime has: TVM 0.26 dropped the older one.
cp "$DATA"/launch/kernels.cl "$DATA"/launch/opencl.toml .
mpack build opencl.toml -o launch.so
for release in 0.22 0.25 0.27; do
	minspect --check --tvm $release launch.so | grep 'symbol' | grep -v checked || true
done
# of a runtime that has neither, nothing is filled
minspect --check --tvm 0.20 launch.so | tail -n 1 || true
