# a payload that begins at a page of the library shares its extents with its file, where a file system can do that
cat >m.toml <<END
[package]
name = "m"
root = "model"
[[module]]
id = "model"
kind = "x.weights"
payload = "weights"
END
[ "$(uname -m)" = x86_64 ] || { echo "large data comes last on x86-64 alone"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
head -c 33554432 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >weights 2>/dev/null || { echo "openssl is not installed"; exit 77; }
echo end >>weights

# anywhere: the payload is at a page, and all else is as it was
mpack build m.toml -o plain.so
mpack build m.toml -o paged.so --page-align
offset()
{
	# where a file has the payload
	python3 -c 'import sys; print(open(sys.argv[1], "rb").read().find(open("weights", "rb").read(64)) % 4096)' "$1"
}
echo "at byte $(offset paged.so) of a page"
minspect --verify paged.so 2>/dev/null
cmp "$(minspect --extract parts -q paged.so; find parts -type f -size +1M)" weights
mpack build m.toml -o again.so --page-align
cmp again.so paged.so && echo "the same bytes"
for word in "x.o" "x.so --standalone"; do
	mpack build m.toml --page-align -o $word || echo "status $?"
done

# where extents can be shared they are: what is free does not become less
free()
{
	sync -f x
	df --output=avail x | tail -n 1
}
shared()
{
	now=$(free)
	[ $((before - now)) -lt 4096 ] && echo "$kind: $1 shares" || echo "$kind: $1 took $((before - now)) KiB"
	before=$now
}
mkdir x
missing=''
trap 'umount -q x || :' EXIT
for kind in xfs btrfs; do
	rm -f image && truncate -s 400M image
	case $kind in
	xfs) mkfs.xfs -q -m reflink=1 image ;;
	btrfs) mkfs.btrfs -q image ;;
	esac >mkfs.log 2>&1 && mount -o loop image x >>mkfs.log 2>&1 || { missing="$missing $kind"; continue; }
	cp m.toml weights x
	before=$(free)
	mpack build x/m.toml -o x/paged.so --page-align
	shared build
	cmp x/paged.so paged.so
	mpack unpack x/paged.so -o x/parts
	shared unpack
	minspect --extract x/files -q x/paged.so
	shared --extract
	mpack edit x/paged.so -o x/edited.so --replace /=x/weights
	shared edit
	cmp x/edited.so paged.so
	umount x
done
[ -z "$missing" ] || { echo "no loop device can be mounted here with:$missing"; exit 77; }
