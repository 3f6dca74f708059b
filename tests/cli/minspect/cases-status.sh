# the exit status: the first of 1, 8, 9, 6 that a case has; 7 when no case found its device
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
differs='[[case]]
name = "differs"
run = "echo"
args = [{ input = "1" }]
expect = ["2"]'
passes='[[case]]
name = "passes"
run = "nothing"'
missing='[[case]]
run = "nobody"'
crashes='[[case]]
run = "crash"'
hangs='[[case]]
run = "hang"
timeout = 1'
no_device='[[case]]
name = "no device"
run = "nothing"
device = "cuda:99"'
skipped='[[case]]
name = "skipped"
run = "nothing"
skip = "why not"'
try() {
	status=0
	printf '%s\n' "$@" >m.toml
	minspect --cases m.toml m.so >out || status=$?
	echo "$status: $(tail -n 1 out)"
}
try "$passes"
try "$passes" "$missing"
try "$missing" "$hangs"
try "$missing" "$hangs" "$crashes"
try "$missing" "$hangs" "$crashes" "$differs"
try "$passes" "$no_device"
try "$skipped" "$no_device"
try "$no_device"
try "$skipped"
