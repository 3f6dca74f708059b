# code objects, a bundle of them and a compressed one run against the HIP runtime of the tests, and give back what they took
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libamdhip64.so.6" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_HIP_LOG="$PWD/log"
for form in hsaco bundle packed; do
	sed "s|kernels.bundle|$DATA/launch/kernels.$form|" data/launch/hip.toml >$form.toml
	mpack build $form.toml -o $form.so
	minspect --run saxpy $form.so --input f32=2.5 --input 300xf32=2 --out 300xf32=1 --expect 300xf32=6 >/dev/null
	minspect --run transpose $form.so --input 2x3xf32=1,2,3,4,5,6 --out 3x2xf32 --expect 3x2xf32=1,4,2,5,3,6
	minspect --run sum $form.so --input 60000xf32=1 --out 1xf32 --expect 1xf32=60000
	minspect --run /0#saxpy $form.so --device rocm:0 --grid 1 --block 128 --input 3xf32=1,2,3 \
		--out 3xf32=1 --input f32=2 --input i32=2 --expect 3xf32=3,5,1
done
grep hipModuleLaunchKernel log
count() { grep -c "^$1 " log; }
echo "memory $(count hipMalloc) $(count hipFree)"
echo "modules $(count hipModuleLoadDataEx) $(count hipModuleUnload)"
# the image is the one that --check means, whatever the device
for arch in gfx906:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx90a:sramecc+:xnack- gfx1100 gfx908:sramecc+:xnack-; do
	for form in hsaco bundle packed; do
		checked=no
		minspect --check --device-arch "$arch" $form.so >/dev/null 2>&1 && checked=yes
		listed=no
		FAKE_HIP_ARCH=$arch minspect --devices $form.so | grep -q 'runs on rocm:0' && listed=yes
		echo "$arch $form: $checked $listed"
	done
done
