# of each container what a driver takes on the devices that are named: nothing can be missing
for device in sm_80 sm_86 sm_90a sm_100 sm_86,sm_120; do
	mpack thin -v data/gpu/cuda.so -o "$device.so" --device-arch $device
	for each in $(echo $device | tr , ' '); do
		minspect --check --device-arch $each "$device.so" | grep -F "[device]" || true
	done
	minspect --size "$device.so" | grep -o '\(sm\|compute\)_[0-9a-z]*' | sort | uniq -c | tr -s " "
	python3 "$ROOT/tests/cli/thinned" data/gpu/cuda.so "$device.so"
done
mpack thin -v data/gpu/hip.so -o hip.so --device-arch gfx1100:xnack-
minspect --check --device-arch gfx1100 hip.so | grep -F "[device]" || true
# devices and names together
mpack thin data/gpu/cuda.so -o both.so --device-arch sm_86 --keep compute_90
mpack thin data/gpu/cuda.so -o same.so --keep sm_80,compute_90
cmp both.so same.so
mpack thin data/gpu/cuda.so -o none.so --device-arch sm_75 2>&1 || echo $?
mpack thin data/gpu/cuda.so -o none.so --device-arch 90 2>&1 || echo $?
test ! -e none.so
