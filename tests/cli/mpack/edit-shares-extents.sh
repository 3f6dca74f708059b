# Where the file system can share extents, an edit beside large weights takes no room for them,
# into another file and onto the same one.
PATH=$PATH:/usr/sbin:/sbin
truncate -s 512M image
mkfs.xfs -q -m reflink=1 image >mkfs.log 2>&1 || { echo "no XFS can be made here"; exit 77; }
head -c 67108864 /dev/zero | tr '\0' w >weights.bin
echo first >small.bin
echo other >other.bin
cat >mpack.toml <<EOF
[package]
name = "shared"
[[module]]
id = "a"
kind = "weights"
payload = "weights.bin"
imports = ["b"]
[[module]]
id = "b"
kind = "small"
payload = "small.bin"
EOF
mkdir disk
status=0
unshare -m sh -c '
	mount -o loop image disk || exit
	touch mounted
	mpack build -o disk/first.so
	used()
	{
		sync -f disk
		now=$(df --output=used -k disk | tail -n 1)
		[ $((now - before)) -lt 8192 ] && echo "$1: shared" || echo "$1: copied"
		before=$now
	}
	before=0
	used first
	mpack edit disk/first.so -o disk/edited.so --replace /0=other.bin
	used edited
	mpack edit disk/edited.so -o disk/edited.so --replace /0=small.bin
	used again
	cmp disk/first.so disk/edited.so
' 2>stderr || status=$?
[ -e mounted ] || { echo "no file system can be mounted here"; exit 77; }
cat stderr >&2
exit $status
