# thousands of kernels in files of their own: a folder, a wheel or a tar of them is looked at as one library after another
mkdir -p tree/sub
cp data/device/two.sm_90.cubin tree/a.bin
cp data/device/two.ptx tree/sub/a.bin
cp data/gpu/params.gfx906.hsaco tree/sub/c
cp data/device/two.cu tree/sub/two.cu
printf '#!/bin/sh\n.version 9.0\n' >tree/script
printf '\t.version "01.01"\n' >tree/host.s
minspect tree
minspect --verify tree
minspect --functions --filter gather tree
minspect --json=lines tree | jq -c '.files[] | [.file, .container, .gpu_code[0].target, [.device_code[].kernels[].name]]'
# a baseline tells them by their paths below the folder
minspect --baseline b.json --update-baseline tree
mkdir elsewhere && cp -r tree elsewhere/
minspect --baseline b.json elsewhere/tree
cp data/device/sums_spill.sm_90.cubin elsewhere/tree/a.bin
minspect --baseline b.json elsewhere/tree || echo "status $?"
# a wheel: by the bytes of its members, packed or not
python3 - <<'END'
import zipfile
with zipfile.ZipFile("k.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for name in "a.bin", "sub/a.bin", "sub/c", "sub/two.cu", "script":
        z.write("tree/" + name, "pkg/" + name)
    z.writestr("k.dist-info/METADATA", "x")
END
minspect k.whl
minspect --json k.whl | jq -c '.files[].libraries[] | [.file, .machine, .gpu_code[0].target]'
minspect --verify k.whl
minspect 'k.whl!/pkg/sub/c' | head -n 2
minspect --baseline w.json --update-baseline k.whl
minspect --baseline w.json k.whl
# a tar, and one member of it
tar -C tree --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf k.tar a.bin sub
minspect k.tar
minspect 'k.tar(sub/c)' | head -n 3
minspect --verify k.tar
# damage: the place is said, and the others are looked at
head -c 100 tree/a.bin >tree/cut
minspect --json=lines tree 2>errors >lines || echo "status $?"
cat errors
grep -c . lines
minspect --verify tree || echo "status $?"
tar -C tree --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf k.tar a.bin cut sub
minspect k.tar | sed -n '3,/^$/p'
minspect --verify k.tar || echo "status $?"
# a folder without any
mkdir empty && echo text >empty/readme.txt
minspect empty || echo "status $?"
minspect --json=lines empty
