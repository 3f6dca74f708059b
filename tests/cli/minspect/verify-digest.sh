# What mpack packed is told by a note: a changed byte of weights is found, in whatever form the
# blob was packed and after whatever tools that leave it alone.
head -c 3000 /dev/zero | tr '\0' w >small.bin
head -c 3000000 /dev/zero | tr '\0' w >large.bin
for size in small large; do
	cat >$size.toml <<EOF
[package]
name = "weights \"$size\""
[[module]]
id = "w"
kind = "weights"
payload = "$size.bin"
EOF
done
# digest_of FILE: what the note says
digest_of()
{
	minspect --json "$1" | jq -r '.files[0].blob.stamp.xxh128'
}
# good FILE...: the digest is there and right
good()
{
	for f in "$@"; do
		minspect -v --verify "$f" | grep -q 'note: the blob is what was packed' ||
			echo "$f: not verified"
		minspect --verify "$f" >/dev/null || echo "$f: refused"
	done
}
# bad FILE: the last byte of the weights changed
bad()
{
	cp "$1" broken
	at=$(minspect --json broken | jq '.files[0].tree[0] | .offset + .bytes - 1')
	base=$(minspect --json broken | jq '.files[0].blob.offset')
	printf x | dd of=broken bs=1 seek=$((base + at)) conv=notrunc status=none
	! minspect --verify broken >findings || echo "$1: damage not seen"
	sed -n 's/.*error: \(the blob is damaged\).*\(\[.*\]\)/\1 \2/p' findings
}
for size in small large; do
	for via in llvm c; do
		mpack build -q $size.toml --via $via -o $size-$via.so
		mpack build -q $size.toml --via $via -o $size-$via.o
		mpack build -q $size.toml --via $via -o $size-$via.a
		good $size-$via.so $size-$via.o $size-$via.a
		bad $size-$via.so
		bad $size-$via.o
	done
	test "$(digest_of $size-llvm.o)" = "$(digest_of $size-c.so)" || echo "digests differ"
	mpack build -q $size.toml -o $size.tar
	good $size.tar
	mpack build -q $size.toml --abi legacy -o $size-legacy.so
	good $size-legacy.so
	mpack build -q $size.toml --system-lib --prefix net_ -o $size-system.o
	good $size-system.o
	# The digest is that of the symbol's bytes, as any other program computes it.
	mpack build -q $size.toml -o $size.blob
	! command -v xxh128sum >/dev/null ||
		test "$(xxh128sum <$size.blob | cut -c1-32)" = "$(digest_of $size-llvm.so)" || echo "another digest"
	mpack build -q $size.blob -o from-blob.so
	good from-blob.so
done
readelf -nW large-llvm.so | sed -n 's/.*Packaging Metadata: \(.*\)"xxh128":.*/\1/p'

# Edits renew it, also onto the same file, and so does a base; through a pipe as well.
head -c 10 /dev/zero | tr '\0' e >other.bin
head -c 4000000 /dev/zero | tr '\0' e >longer.bin
cp large-llvm.so edited.so
for payload in other large; do
	mpack edit edited.so -o edited.so --replace /=$payload.bin
	good edited.so
done
test "$(digest_of edited.so)" = "$(digest_of large-llvm.so)" || echo "edited back, other digest"
mpack edit large-llvm.so -o /dev/stdout --replace /=other.bin | cat >piped.so
good piped.so
cat >based.toml <<EOF
[package]
name = "based"
base = "large-llvm.so"
[[module]]
id = "w"
kind = "weights"
payload = "longer.bin"
EOF
mpack build -q based.toml -o based.so
good based.so
bad based.so
# The build id changes with it.
readelf -nW large-llvm.so based.so | grep -c 'Build ID: '
readelf -nW large-llvm.so based.so | grep 'Build ID: ' | sort -u | wc -l

# A damaged blob is not passed off as sound; without the note nobody can tell.
cp large-llvm.so damaged.so
printf x | dd of=damaged.so bs=1 seek=2000000 conv=notrunc status=none
cp damaged.so before.so
mpack edit damaged.so -o damaged.so --replace /=other.bin || echo "edit: status $?"
cmp damaged.so before.so
mpack edit damaged.so -o /dev/stdout --replace /=other.bin >nothing || echo "edit to a pipe: status $?"
test ! -s nothing
mpack unpack damaged.so -o apart || echo "unpack: status $?"
test ! -e apart
objcopy --remove-section .note.package damaged.so
mpack edit damaged.so -o repaired.so --replace /=large.bin
minspect --json repaired.so | jq -c '.files[0].blob.stamp'

# The name may look like a digest, and the symbol may be longer than the blob.
sed "s/^name = .*/name = \"x00000000000000000000000000000000\"/" large.toml >zeros.toml
mpack build -q zeros.toml -o zeros.so
mpack build -q zeros.toml -o zeros.o
good zeros.so zeros.o
mpack build -q large.toml -o plus.c
g++ -x c++ -shared -fPIC plus.c -o plus.so
minspect --verify plus.so | grep -c 'blob-digest' || true
# A compiler that takes no assembly gets the blob as C, digest included.
! command -v clang-19 >/dev/null || {
	mpack build -q large.toml --via c --cc clang-19 --cflag -fno-gnu-inline-asm -o plain.so
	mpack build -q large.toml --via c --cc clang-19 --cflag -fno-gnu-inline-asm -o plain.o
	good plain.so plain.o
}
# Whoever throws notes away keeps a build id that follows the blob.
echo '/DISCARD/ : { *(.note.package) }' | sed 's/.*/SECTIONS { & } INSERT AFTER .text;/' >discard.ld
for payload in large longer; do
	sed "s/payload = .*/payload = \"$payload.bin\"/" large.toml >id.toml
	mpack build -q id.toml --ldflag -Wl,-T,discard.ld -o $payload-id.so
	minspect --json $payload-id.so | jq -c '.files[0].blob.stamp'
done
readelf -nW large-id.so longer-id.so | grep 'Build ID: ' | sort -u | wc -l

# A library that TVM exported has no note; none is made up.
minspect --json data/formats/01_opencl_scale.so | jq -c '.files[0].blob.stamp'
minspect -v --verify data/formats/01_opencl_scale.so | grep -c 'blob-digest' || true
