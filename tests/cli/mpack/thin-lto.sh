# What a link of GPU code needs later stays in objects and archives: LTO-IR for the device or an earlier one
command -v gcc >/dev/null || { echo "gcc is not installed"; exit 77; }
printf '%s\n' '.section __nv_relfatbin, "a"' '.balign 8' '.incbin "data/device/tiny.lto.fatbin"' \
	'.section .note.GNU-stack, "", @progbits' >lto.s
gcc -c lto.s -o lto.o
ar rcsD lib.a lto.o
minspect lto.o | grep 'LTO\|GPU'
lto=$(minspect lto.o | sed -n 's/.* lto_\([0-9]*\) LTO.*/\1/p')
mpack thin lib.a --device-arch "sm_$lto" -o same.a
minspect same.a | grep 'LTO\|GPU'
mpack thin lto.o --keep "lto_$lto" -o kept.o
minspect kept.o | grep 'LTO\|GPU'
# by its name alone, a device does not keep it: that is refused
mpack thin lto.o --keep "sm_$lto" -o no.o || echo "status $?"
test ! -e no.o
mpack thin lto.o --device-arch sm_50 -o none.o || echo "status $?"
minspect verify lto.o
