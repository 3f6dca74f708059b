# What mpack packed and is no longer found, or is damaged, is said by whoever judges the file.
cp data/example/host.c data/formats/01_opencl_scale.blob .
cat >mpack.toml <<'END'
[package]
name = "deploy"
root = "host"

[[module]]
id      = "host"
kind    = "host"
sources = ["host.c"]
imports = ["weights"]

[[module]]
id      = "weights"
kind    = "weights"
payload = "01_opencl_scale.blob"
END
mpack build -o deploy.so 2>/dev/null
minspect --verify deploy.so
sed 's/__tvm_ffi__library_bin\x00/__tvm_ffi__library_bix\x00/g' deploy.so >lost.so
sed 's/opencl_scale/opencl_skale/;s/scale_kernel/skale_kernel/' deploy.so >damaged.so
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null
for f in lost damaged; do
	for line in "minspect --verify $f.so" "minspect --check --tvm 0.27 --machine x86_64 $f.so" \
		"mpack sign $f.so -o signed.so --key key.pem"; do
		echo "-- $line"
		# where the linker puts the hash table is its own choice
		$line 2>&1 | sed 's/+0x[0-9a-f]*\(: error: the hash table\)/+0xN\1/
			s/xxh128 is [0-9a-f]*, what was packed had [0-9a-f]*/xxh128 is X, what was packed had Y/'
	done
done
# a tree that does not read is not signed, either
at=$(minspect --json deploy.so | jq '.files[0].blob.offset')
cp deploy.so tree.so
printf '\377\377\377' | dd of=tree.so bs=1 seek=$((at + 8)) conv=notrunc status=none
mpack sign tree.so -o signed.so --key key.pem 2>&1 | sed 's/+0x[0-9a-f]*/+0xN/'
ls signed.so 2>/dev/null || echo "nothing signed"
