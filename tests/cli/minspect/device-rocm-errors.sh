# what HIP refuses is said with its name for it and the likely cause; the exit status says whose fault it is
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libamdhip64.so.6" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes"
for form in hsaco packed; do
	sed "s|kernels.bundle|$DATA/launch/kernels.$form|" data/launch/hip.toml >$form.toml
	mpack build $form.toml -o $form.so
done
try() {
	status=0
	env "$1" minspect --run saxpy "${2-hsaco.so}" --input f32=2.5 --input 300xf32=2 --out 300xf32=1 \
		--device rocm >/dev/null 2>err || status=$?
	printf '%s: ' $status
	sed 's/^.*error: //' err
}
try FAKE_HIP_DEVICES=0
try FAKE_HIP_ARCH=gfx90a:sramecc+:xnack-
try FAKE_HIP_FAIL=hipInit:1:35
try FAKE_HIP_FAIL=hipMalloc:2:2
try FAKE_HIP_FAIL=hipModuleLoadDataEx:1:200
try FAKE_HIP_FAIL=hipModuleLaunchKernel:1:719
try FAKE_HIP_FAIL=hipStreamSynchronize:1:700
try FAKE_HIP_DRIVER=50221153 packed.so
try LD_LIBRARY_PATH="$fakes/old"
