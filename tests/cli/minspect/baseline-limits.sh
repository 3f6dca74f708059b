# limits that hold whatever was before, in new kernels too, and devices and kernels that must stay
cp data/device/sums.sm_90.cubin k.cubin
document() { echo "{\"schema_version\": 1, \"files\": [], $1}" >b.json; }
run() {
	echo "\$ minspect $*"
	minspect "$@" 2>&1 || echo "status $?"
}
document '"least": {"occupancy_percent": 38, "file_bytes": 100}, "most": {"registers": 80, "file_bytes": 11832}'
minspect baseline b.json --update-baseline k.cubin >said
run baseline b.json k.cubin
# what was there stays in an update
document '"tolerance": {"registers": 3}, "least": {"occupancy_percent": 39}, "most": {"registers": 79, "stack_bytes": 0, "file_bytes": 10000}, "keep": ["kernels", "targets"]'
minspect baseline b.json --update-baseline k.cubin >said
jq -c '[.least, .most, .keep]' b.json
run baseline b.json k.cubin
run baseline b.json k.cubin --markdown
minspect baseline b.json k.cubin --json | jq -c '.files[0].findings[]'
run baseline b.json k.cubin --junit j.xml
cat j.xml
# another device: each of its kernels is new, the old ones and their device are lost
document '"most": {"code_bytes": 100000}, "keep": ["kernels", "targets"]'
minspect baseline b.json --update-baseline k.cubin >said
cp data/device/tiny.sm_100.cubin k.cubin
run baseline b.json k.cubin
run baseline b.json k.cubin --json
run baseline b.json k.cubin --junit j.xml >said
cat j.xml
document '"keep": ["targets"]'
cp data/device/sums.sm_90.cubin k.cubin
minspect baseline b.json --update-baseline k.cubin >said
cp data/device/tiny.sm_100.cubin k.cubin
run baseline b.json k.cubin
run baseline b.json k.cubin --markdown
for wrong in '"most": {"speed": 1}' '"least": {"registers": 1.5}' '"most": {"registers": 1, "registers": 2}' '"keep": "targets"' '"keep": ["all"]' '"least": 3'; do
	document "$wrong"
	run baseline b.json k.cubin
done
