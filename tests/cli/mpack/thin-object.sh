# objects and archives, thinned and then linked: containers move in their section, symbols and relocations follow
command -v eu-elflint >/dev/null || { echo "eu-elflint is not installed"; exit 77; }
objcopy -O binary --only-section=.nv_fatbin data/gpu/cuda.so fat.bin
for name in first second; do
	cat >$name.s <<-END
		.section .nv_fatbin, "a"
		.align 8
		.type code_$name, @object
		code_$name: .incbin "fat.bin"
		.size code_$name, . - code_$name
		.section .nvFatBinSegment, "aw"
		.align 8
		.globl wrap_$name
		wrap_$name: .long 0x466243b1, 1
		.quad code_$name, 0
		.data
		.quad code_$name
		.section .note.GNU-stack, "", @progbits
	END
	cc -c $name.s -o $name.o
done
ld -r first.o second.o -o both.o
ar rcs lib.a first.o second.o
ar rcsD same.a first.o second.o
link()
{
	cc -shared -nostdlib -Wl,--whole-archive "$1" -Wl,--no-whole-archive -o "$2"
}
link lib.a whole.so
mkdir thin
for file in first.o both.o lib.a; do
	mpack thin -q $file -o thin/$file --keep sm_90,compute_90
	test "$(wc -c <$file)" -gt "$(wc -c <thin/$file)"
	link thin/$file $file.so
	minspect $file.so | grep -A 2 'GPU code'
	minspect --verify $file.so
done
for file in first.o both.o; do
	eu-elflint --gnu-ld -q $file && eu-elflint --gnu-ld -q thin/$file && echo "eu-elflint finds nothing"
done
# what a program gets is what thinning it after linking leaves, in both forms, and every wrapper leads to a container
mpack thin -q whole.so -o after.so --keep sm_90,compute_90
minspect -q --extract before after.so
minspect -q --extract after lib.a.so
(cd before/gpu && sha256sum ./* | cut -c1-64 | sort -u) >before.txt
(cd after/gpu && sha256sum ./* | cut -c1-64 | sort -u) | cmp - before.txt
python3 "$ROOT/tests/cli/thinned" whole.so whole.so
python3 "$ROOT/tests/cli/thinned" lib.a.so lib.a.so
# what points into the middle of a container cannot be followed
{
	cat first.s
	printf '.data\n.quad code_first + 24\n'
} >middle.s
cc -c middle.s -o middle.o
mpack thin middle.o -o thin/middle.o --keep sm_90,compute_90 2>&1 || echo $?
test ! -e thin/middle.o
# members and their index are those that ar writes
ar t thin/lib.a
nm -s thin/lib.a 2>/dev/null | sed -n 2,3p
mpack thin -q same.a -o all.a --keep sm_80,sm_90,compute_90
cmp same.a all.a
# an object of a compiler for a linker of device code, and an offload binary of Clang's
for file in cuda-rdc.o offload.o; do
	keep=sm_90
	test $file = cuda-rdc.o || keep=gfx90a
	mpack thin -q data/gpu/$file -o thin/$file --keep $keep --allow-missing
	minspect thin/$file | grep -A 2 'GPU code'
done
