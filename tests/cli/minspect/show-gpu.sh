# GPU code of any library: what --extract writes by its name, images by their targets, kernels where they are text.
show() { echo "--- $*"; minspect --show "$@" || echo "status $?"; }
same() { minspect --show "$1" "$2" | cmp - "$3" && echo "same $1"; }

minspect --extract cuda data/gpu/cuda.so
same '.nv_fatbin:0#0-0-sm_80.cubin' data/gpu/cuda.so cuda/gpu/0-0-sm_80.cubin
same gpu/1-1-sm_90.cubin data/gpu/cuda.so cuda/gpu/1-1-sm_90.cubin
same '#sm_90' data/gpu/cuda.so cuda/gpu/0-1-sm_90.cubin
same '.nv_fatbin:1#sm_90' data/gpu/cuda.so cuda/gpu/1-1-sm_90.cubin
same '.nv_fatbin:1#compute_90' data/gpu/cuda.so cuda/gpu/1-2-compute_90.ptx
minspect --extract amd data/gpu/hip-packed.so
same '.hip_fatbin:1#gfx90a' data/gpu/hip-packed.so amd/gpu/1-2-gfx90a-xnack+.hsaco
same '.hip_fatbin:1#gfx90a:xnack+' data/gpu/hip-packed.so amd/gpu/1-2-gfx90a-xnack+.hsaco
same '#gfx1100' data/gpu/hip-packed.so amd/gpu/0-1-gfx1100.hsaco
# a section with one image, which stands there as it is
minspect --extract bundled data/gpu/bundled.o
same '__CLANG_OFFLOAD_BUNDLE__openmp-amdgcn-amd-amdhsa--gfx90a:0' data/gpu/bundled.o bundled/gpu/0.hsaco
same '#gfx90a' data/gpu/bundled.o data/gpu/mix.gfx90a.hsaco
minspect --show .hip_fatbin:0 --raw data/gpu/hip.so | cmp - data/gpu/first.bundle
# the definition of a kernel, from a text that is packed
show second data/gpu/cuda.so | head -n 5
show '.nv_fatbin:0#first' data/gpu/cuda.so | head -n 2
# objects of an archive
ar rcsD lib.a data/gpu/cuda-rdc.o data/gpu/bundled.o
same '#gfx90a' lib.a data/gpu/mix.gfx90a.hsaco
# what cannot be done says so
show saxpy data/gpu/hip.so
show .nv_fatbin:0 data/gpu/cuda.so
show .nv_fatbin:2 data/gpu/cuda.so
show .nv_fatbin:0#secomd data/gpu/cuda.so
show '.nv_fatbin:1#secomd' data/gpu/cuda.so
show '#gfx90' data/gpu/hip-packed.so
show '#gfx90a:xnack-' data/gpu/hip-packed.so
show '.nv_fatbin:0#sm_80' --raw data/gpu/cuda.so

# members of zip archives, for --disasm too
python3 - <<'PY'
import zipfile
with zipfile.ZipFile("app.whl", "w") as z:
    for name, file, method in (("pkg/lib.so", "formats/01_opencl_scale.so", 8), ("pkg/cuda.so", "gpu/cuda.so", 8),
                               ("pkg/hip.so", "gpu/hip-packed.so", 0)):
        z.writestr(zipfile.ZipInfo(name), open(f"data/{file}", "rb").read(), method)
PY
minspect --show /0 'app.whl!/pkg/lib.so' >member
minspect --show /0 data/formats/01_opencl_scale.so | cmp - member
same '.nv_fatbin:1#sm_80' 'app.whl!/pkg/cuda.so' cuda/gpu/1-0-sm_80.cubin
same '.hip_fatbin:1#gfx90a' 'app.whl!/pkg/hip.so' amd/gpu/1-2-gfx90a-xnack+.hsaco
show /0 app.whl
show /0 'app.whl!/pkg/cuda.so'
minspect --disasm main 'app.whl!/pkg/lib.so' | head -n 2
minspect disasm --all 'app.whl!/pkg/hip.so' 'app.whl!/pkg/lib.so' | grep '>:$'
minspect --disasm '.hip_fatbin:1#gfx90a' 'app.whl!/pkg/hip.so' | head -n 2
