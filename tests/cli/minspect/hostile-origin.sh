# Notes that a stranger wrote: control characters, damage, too many, too long. What is shown is escaped, and
# nothing is taken for a signature.
python3 "$ROOT/tests/fuzz/seed_origin.py" . data/formats/01_opencl_scale.so
echo "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f" >key.pub
for f in ugly cut deep twice long surrogate seal seals short newer empty huge; do
	echo "== $f"
	minspect -v $f.so | sed -n '/signature  \|provenance \|made by/,/^$/p' | sed '/^$/d'
	minspect --verify $f.so
	minspect --verify --pubkey key.pub $f.so | sed '$d'
	minspect --json $f.so | python3 -c 'import json, sys; f = json.load(sys.stdin)["files"][0]
print(sorted(set(f) & {"signature", "provenance"}))'
	status=0
	minspect --sbom $f.so >sbom 2>err || status=$?
	test $status = 0 || { cat err; echo "= $status"; }
done
minspect --sbom=spdx ugly.so | LC_ALL=C grep -c '[[:cntrl:]]' || echo "no control characters"
