# every check alone, with and without what it is compared with: what a file has nothing of is no pass (5), what is there is judged
cat >plain.c <<'C'
int f(int x) { return x + 1; }
C
${CC:-cc} -shared -fPIC -nostdlib plain.c -o plain.so
cp data/cuda/fatbin/vadd_cuda.so module.so
cp data/gpu/cuda.so cuda.so
cp data/gpu/hip.so hip.so
cp data/device/two.sm_90.cubin cubin
cp data/device/two.ptx ptx
cp data/device/compute.spv spirv
cp data/opencl/vadd_opencl.so opencl.so 2>/dev/null || cp "$(ls data/*/*opencl*.so | head -n 1)" opencl.so
look() # KIND OPTION...
{
	kind=$1
	shift
	printf '%-12s %-30s' "$kind" "$*"
	for f in plain.so module.so cuda.so hip.so cubin ptx spirv opencl.so; do
		status=0
		minspect check --machine x86_64 --only "$kind" "$@" $f >out 2>&1 || status=$?
		printf ' %s' $status
		# the sentence and the status are one
		case $status in
		5) grep -q ': nothing checked' out || { echo; cat out; } ;;
		0) if grep -q 'nothing checked\|: error: ' out; then echo; cat out; fi ;;
		esac
	done
	echo
}
printf '%-43s plain module cuda hip cubin ptx spirv opencl\n' ''
for kind in machine format loader payload linking glibc library symbol function registration device driver abi; do
	look $kind
done
look format --tvm 0.27
look loader --tvm 0.27
look function --tvm 0.27
look glibc --glibc 2.17
look abi --abi any
look abi --abi manylinux_2_28
for device in sm_70 sm_90 sm_120 sm_100a gfx90a gfx1201; do
	look device --device-arch $device
done
look device --device-arch sm_90 --own-code
for driver in 10.2 12.4 13.0; do
	look driver --driver $driver
	look device --driver $driver
	look device,driver --driver $driver --device-arch sm_90
	look device,driver --driver $driver --device-arch gfx90a
done
look glibc,device --glibc 2.40 --device-arch sm_90
# without what it is compared with, the sentence names the option that says it
for kind in abi device driver format loader; do
	minspect check --only $kind --machine aarch64 plain.so | sed 's/; checked.*//'
	minspect check --only $kind --machine x86_64 cuda.so | sed 's/; checked.*//'
done
