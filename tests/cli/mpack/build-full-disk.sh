# A disk that cannot take the output says so before anything is copied, and is left as it was.
# It is an ext4 file system, where blocks are reserved ahead.
PATH=$PATH:/usr/sbin:/sbin
truncate -s 8M image
mkfs.ext4 -q -m 0 image >mkfs.log 2>&1 || { echo "no file system can be made here"; exit 77; }
head -c 16777216 /dev/zero | tr '\0' w >weights.bin
cat >mpack.toml <<EOF
[package]
name = "full"
[[module]]
id = "a"
kind = "weights"
payload = "weights.bin"
EOF
sed s/weights.bin/small.bin/ mpack.toml >small.toml
truncate -s 4M small.bin
mpack build -o whole.so
mkdir disk
status=0
unshare -m sh -c '
	mount -o loop image disk || exit
	touch mounted
	df --output=avail disk >before
	mpack build -o disk/full.so
	echo "build: $?"
	minspect --extract disk/files whole.so
	echo "extract: $?"
	mpack build small.toml -o disk/small.so
	echo "small: $?"
	minspect --verify disk/small.so >verified || cat verified
	rm disk/small.so
	ls -A disk
	# the kernel gives back what a sandbox was about a moment after its process
	for try in $(seq 400); do
		df --output=avail disk | cmp -s - before && break
		sleep 0.05
	done
	df --output=avail disk | cmp - before
' 2>stderr || status=$?
[ -e mounted ] || { echo "no file system can be mounted here"; exit 77; }
cat stderr >&2
exit $status
