# whether code for GPUs in a file of its own runs on a device: a file by itself, and a wheel of them with one verdict
for arch in sm_90 sm_75 sm_120 gfx90a gfx1100; do
	for f in device/two.sm_90.cubin device/two.ptx device/tiny.size.fatbin device/calls_rdc.sm_80.cubin gpu/mix.gfx90a.hsaco \
		gpu/first.bundle device/compute.spv; do
		status=0
		minspect --check --device-arch $arch data/$f >answer || status=$?
		echo "$arch $f: $status $(grep -o 'error: .*' answer | head -n 1 | cut -c -90)"
	done
done
python3 - <<'END'
import zipfile
with zipfile.ZipFile("k.whl", "w") as z:
    z.write("data/device/two.sm_90.cubin", "k/two.cubin")
    z.write("data/device/two.sm_75.cubin", "k/old.cubin")
END
minspect --check --device-arch sm_90 k.whl || echo "status $?"
