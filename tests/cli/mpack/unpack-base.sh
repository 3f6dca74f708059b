# A library taken apart, changed and built again runs as before, with payloads of any size, also
# after other tools have been at it.
add() {
	minspect -q --run add "$1" --input 4xf32=1,2,3,4 --input 4xf32=1 --out 4xf32 --expect 4xf32=2,3,4,5
}
mpack unpack data/formats/06_relax_vm.so -o dir
for bytes in 100000 3000000 1; do
	sed 's/relax.VMExecutable"/my_runtime"/; s/^payload = .*/payload = "new.bin"/' dir/mpack.toml >dir/new.toml
	head -c $bytes /dev/zero | tr '\0' 'x' >dir/new.bin
	mpack build dir/new.toml -o new.blob
	mpack build dir/new.toml -o new.so
	mpack unpack new.so -o other
	mpack build other/mpack.toml -o other.blob
	cmp new.blob other.blob
	cmp dir/new.bin other/0-*/payload.bin
	add new.so
	rm -r other
	strip new.so -o stripped.so
	objcopy --strip-debug new.so copied.so
	for f in stripped copied; do
		mpack unpack $f.so -o other
		mpack build other/mpack.toml -o other.blob
		cmp new.blob other.blob
		add $f.so
		rm -r other
	done
done
