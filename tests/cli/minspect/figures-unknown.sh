# a figure that nobody knows is no 0: not shown, not stored, not compared as one, and a gate does not take it for better
cat >make.py <<'PY'
# make.py NAME.so IMAGE=TARGET...: a library with a bundle of images
import struct, subprocess, sys

entries = []
for word in sys.argv[2:]:
    f, t = word.split("=")
    triple = "openmp-nvptx64-nvidia-cuda--" if t.startswith("sm_") else "hipv4-amdgcn-amd-amdhsa--"
    entries.append((open(f, "rb").read(), (triple + t).encode()))
at = 32 + sum(24 + len(t) for _, t in entries)
head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
for image, target in entries:
    body += b"\0" * (-(at + len(body)) % 16)
    head += struct.pack("<QQQ", at + len(body), len(image), len(target)) + target
    body += image
open("section.bin", "wb").write(head + body)
code = b'.section .hip_fatbin,"a",@progbits\n.balign 16\n.incbin "section.bin"\n.section .note.GNU-stack,"",@progbits\n'
subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-x", "assembler", "-o", sys.argv[1], "-"], input=code, check=True)
PY
# AMD: calls that need a stack as deep as they go, and metadata without one number
python3 - <<'PY'
data = bytearray(open("data/gpu/mix.gfx906.hsaco", "rb").read())
open("told", "wb").write(data)
at = data.index(b".uses_dynamic_stack") + len(b".uses_dynamic_stack")
assert data[at] == 0xc2
data[at] = 0xc3
open("deep", "wb").write(data)
for key in b".vgpr_count", b".vgpr_spill_count", b".group_segment_fixed_size":
    data[data.index(key) + 1] -= 32
open("untold", "wb").write(data)
PY
for f in calls calls_linked; do cp data/device/$f.sm_80.cubin $f; done
python3 make.py both.so calls_linked=sm_80 deep=gfx906
minspect --functions both.so
minspect --functions --json both.so | grep -E '"(name|registers|stack_bytes|scratch_bytes|dynamic_stack)"'
minspect --size --csv both.so | grep ',kernel,\|^file,'
# from a known stack to none, and back
mkdir -p old new
python3 make.py old/lib.so told=gfx906
for f in deep untold; do
	python3 make.py new/lib.so $f=gfx906
	minspect --diff old/lib.so new/lib.so || echo "status $?"
	minspect --markdown --diff new/lib.so old/lib.so | grep '^|' || :
	minspect --json --diff old/lib.so new/lib.so | sed -n '/"figures"/,/^ *]/p'
	rm -f base.json
	minspect --baseline base.json --update-baseline old/lib.so
	minspect --baseline base.json --tolerance 1000 new/lib.so || echo "status $?"
	minspect --baseline base.json --tolerance 1000 --json new/lib.so | grep -A3 '"measure"' || :
	minspect --baseline base.json --junit out.xml new/lib.so >out || cat out.xml
	rm base.json
	minspect --baseline base.json --update-baseline new/lib.so
	sed -n '/"kernels"/,$p' base.json
	minspect --baseline base.json new/lib.so
	minspect --baseline base.json old/lib.so
done
minspect --html both.html both.so
sed '/<noscript>/,/<\/noscript>/d' both.html | tr ',' '\n' | grep -o 'stack unknown\|scratch and a dynamic stack' | sort | uniq -c
