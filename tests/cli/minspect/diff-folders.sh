# folders and archives are compared file by file, by their paths; what one side alone has is a difference
# what is told of instructions depends on what is installed: minspect/diff-sass has that
mkdir -p cuda/bin
printf '#!/bin/sh\necho "a stand-in" >&2; exit 1\n' >cuda/bin/nvdisasm
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
mkdir -p old/sub new/sub
cp data/device/sums.sm_90.cubin old/k.cubin
cp data/device/sums_spill.sm_90.cubin new/k.cubin
cp data/device/two.ptx old/sub/same.ptx
cp data/device/two.ptx new/sub/same.ptx
cp data/device/compute.spv old/gone.spv
cp data/gpu/params.gfx906.hsaco new/sub/came.hsaco
cp data/weights/small.gguf old/w.gguf
look() { minspect "$@" || echo "status $?"; }
look --diff old new
look --diff old old
minspect --diff old --json new >all.json || echo "status $?"
jq -c '.files[] | [.file, .other, (.differences[] | [.change, .what, .name])]' all.json
minspect --diff old --json=lines new >lines.json || echo "status $?"
jq -c '[.files[] | [.file, .other, (.differences | length)]]' lines.json
look --diff old --markdown new
# a file and a folder: the one of its name
look --diff old new/k.cubin 2>&1 | head -n 6
echo 'int f(void) { return 1; }' | cc -shared -x c -o empty.so -
python3 - <<'END'
import os, zipfile
for side in "old", "new":
    with zipfile.ZipFile(side + ".whl", "w", zipfile.ZIP_STORED) as z:
        for folder, _, names in sorted(os.walk(side)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                z.write(path, "pkg" + path[3:])
        z.write("empty.so", "pkg/empty.so")
    os.makedirs("wheels-" + side)
    os.link(side + ".whl", "wheels-" + side + "/app.whl")
END
look --diff old.whl new.whl
look --diff old.whl 'new.whl!/pkg/k.cubin' | head -n 5
look --diff wheels-old wheels-new | grep '^[-+~]' | head -n 4
# what is no pair
look --diff old.whl new/k.cubin
look --diff nothing new
mkdir none
look --diff none new | grep -c '^+ file'
# an archive and what was unpacked of it, in either order: equal, and with a file that was changed, lost or came
python3 -c 'import zipfile; zipfile.ZipFile("new.whl").extractall("unpacked")'
look --diff new.whl unpacked
look --diff unpacked new.whl
cp data/device/sums.sm_90.cubin unpacked/pkg/k.cubin
printf 'y' >unpacked/pkg/note.txt
rm unpacked/pkg/empty.so
look --diff new.whl unpacked | grep -v '^ ' | head -n 8
look --diff unpacked new.whl | grep '^[-+~] file\|->'
