# a verdict for each library and one for all on each GPU: of a wheel, a folder, files that are listed
cat >wheel.py <<'P'
import zipfile
with zipfile.ZipFile("kit.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for name in ("cuda.so", "hip.so", "hip-packed.so"):
        z.write("data/gpu/" + name, "kit/" + name)
    z.write("data/formats/14_llvm_noblob.so", "kit/host.so")
    z.writestr("kit/__init__.py", "")
P
python3 wheel.py
mkdir kit
cp data/gpu/*.so kit
gate() # the verdict, the lines for each device, and the status
{
	status=0
	minspect --check --only device "$@" >out || status=$?
	head -n 1 out
	grep -E '^  (sm_|compute_|gfx)' out || true
	echo "exit $status"
}
gate --device-arch sm_75,sm_80,sm_86 --device-arch sm_90 kit.whl
gate --device-arch sm_80,sm_90,gfx90a:xnack+,gfx1100 kit.whl
gate --device-arch gfx942,gfx90a:xnack- kit
gate --device-arch sm_90a,sm_100 data/gpu/cuda.so data/gpu/hip.so
# machine code of their own for some, PTX for all that come: of the last two one runs by that alone, one by code of sm_80
gate --own-code --device-arch sm_80,sm_90,compute_90 data/gpu/cuda.so data/gpu/hip.so
gate --own-code --device-arch sm_120,sm_86,compute_80 data/gpu/cuda.so data/gpu/hip.so
gate --device-arch sm_120,compute_100 data/gpu/cuda.so data/gpu/hip.so
# PTX for one architecture is for no later one; source is no machine code; images of Tile IR and LTO are neither
for f in data/cuda/fatbin/vadd_cuda.so data/cuda/cubin/vadd_cuda.so data/cuda/ptx/vadd_cuda.so data/device/two.ptx data/device/tiny.lto.fatbin; do
	minspect --check --only device --own-code --device-arch sm_90,compute_90 $f || echo "exit $?"
done
minspect --check --own-code data/gpu/cuda.so || echo "exit $?"
# a maker that no library has code for; no GPU code at all, which is no pass
gate --device-arch gfx90a data/gpu/cuda.so data/cuda/cubin/vadd_cuda.so
gate --device-arch gfx90a data/formats/14_llvm_noblob.so data/relax/gelu.so
# files of code by themselves, as caches have them
gate --device-arch sm_75,sm_90 data/triton
# each library below the verdict of all, also of those that have nothing to say
minspect --check --all --only device --device-arch sm_80 kit.whl
# alone a file says it itself: another maker, nothing for a device, a driver or a check that was asked for
minspect --check --only device --device-arch gfx90a data/gpu/cuda.so || echo "exit $?"
for o in '--device-arch sm_90' '--driver 12.4' '--only device' '--only driver --driver 12.4'; do
	minspect --check --tvm 0.27 --machine x86_64 $o data/formats/14_llvm_noblob.so | sed 's/; checked.*//' >out 2>&1
	cat out
	minspect --check --tvm 0.27 --machine x86_64 $o data/formats/14_llvm_noblob.so >out || echo "exit $?"
done
# as JSON: of each file, of all
minspect --check --only device --device-arch sm_75,sm_90 --json kit.whl >gate.json || echo "exit $?"
python3 - <<'P'
import json
d = json.load(open("gate.json"))
for f in d["files"]:
    print(f["file"], f["there"]["device"], f["gpu"]["verdict"], f["gpu"]["place"], f["gpu"]["kernel"], f["checked"])
print(json.dumps(d["devices"]), d["verdict"])
P
minspect --check --only device --device-arch sm_75 --json=lines kit | tail -n 1
minspect --check --only devices --device-arch sm_75 kit || echo "exit $?"
minspect --check --device-arch sm_75,,sm_90 kit || echo "exit $?"
