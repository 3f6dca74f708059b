# the page in Chromium: the front page of a set, graphs of models with many layers, of two models, and a profile
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }

minspect html data/relax/gelu_opencl.so -o model.html
minspect html data/relax/gelu_opencl.so data/relax/gelu.so -o two.html
python3 - <<'END'
import zipfile
with zipfile.ZipFile("set.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(12):
        z.write(("data/gpu/cuda.so", "data/gpu/hip.so", "data/relax/gelu_opencl.so")[i % 3], f"pkg/lib{i}.so")
END
minspect html set.whl -o set.html

# two releases: the same kernels with spills, one library less and one more
python3 - <<'END'
import shutil, zipfile
for name, files in ("old.whl", {"liba.so": "data/device/sums.sm_90.cubin", "libb.so": "data/gpu/cuda.so", "libgone.so": "data/gpu/hip.so", "libsame.so": "data/relax/gelu_opencl.so"}), \
        ("new.whl", {"liba.so": "data/device/sums_spill.sm_90.cubin", "libb.so": "data/gpu/hip.so", "libnew.so": "data/gpu/cuda.so", "libsame.so": "data/relax/gelu_opencl.so"}):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
        for member, path in files.items():
            z.write(path, f"pkg/{member}")
END
minspect html old.whl new.whl -o releases.html
minspect diff old.whl new.whl >releases.txt || test $? = 1

# a folder of many files
mkdir cubins
python3 - <<'END'
import os, shutil
for i in range(300):
    for name in "copy", "scale":
        os.mkdir(f"cubins/{name}{i:03}{'abcdef0123456789'[i % 16] * 12}")
        shutil.copy("data/device/two.sm_90.cubin", f"cubins/{name}{i:03}{'abcdef0123456789'[i % 16] * 12}/{name}_{i}.cubin")
END
minspect html cubins -o thousands.html

# a model with a profile of a run, and with what is none
minspect run forward data/relax/gelu.so --input 4x24xf32=rand --profile=times.json >/dev/null
minspect html data/relax/gelu.so --times times.json -o times.html
echo '{"traceEvents": [null, {"ph": "X"}, 3' >notimes.json
minspect html data/relax/gelu.so --times notimes.json -o notimes.html

# what calls of a model take
gunzip -c data/relax/decoder.so.gz >decoder.so
set -- --shape max_batch_size=2 --shape max_total_seq_len=256 --shape page_size=16 --shape prefill_chunk_size=32 --shape support_sliding_window=0 --shape seq_len=32
minspect memory --json "$@" decoder.so >memory.json
minspect html "$@" decoder.so -o memory.html

python3 "$ROOT/tests/page/check_page.py" . front releases thousands long_texts transformers graph_differences profiled remembered
