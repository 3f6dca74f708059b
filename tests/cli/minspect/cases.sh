# many calls, each judged: a crash, an end of the process and a call that does not return fail alone
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
mkdir sub
printf '\000\000\000\000\000\000\200\077' >sub/raw.bin
cat >sub/m.toml <<'END'
[[case]]
name = "adds"
run = "add_one"
args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
expect = ["4xf32=2,3,4,5"]

[[case]]
run = "crash"

[[case]]
name = "reads a file beside the case file"
run = "add_one"
args = [{ input = "2xf32=@raw.bin" }, { out = "2xf32" }]
expect = ["2xf32=1,2"]

[[case]]
run = "hang"
timeout = 1

[[case]]
run = "leave"

[[case]]
name = "raises"
run = "raise_value_error"
raises = "ValueError: this is \u001b"

[[case]]
name = "raises another"
run = "raise_value_error"
raises = "TypeError"

[[case]]
name = "does not raise"
run = "nothing"
raises = "TypeError"

[[case]]
name = "a crash is no error that was raised"
run = "abort_it"
raises = "abort"

[[case]]
name = "two differences"
run = "add_one"
args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
expect = ["4xf32=2,3,4,6", "1"]

[[case]]
name = "near enough"
run = "add_one"
args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
expect = ["4xf32=2,3,4,6"]
atol = 1

[[case]]
name = "waits"
run = "add_one"
args = [{ input = "f32=2" }, { out = "4xf32" }]
skip = "needs \u001b[31mmore"

[[case]]
run = "add_on"

[[case]]
name = "unexpected"
run = "raise_parts"

[[case]]
name = "last"
run = "echo"
args = [{ input = "str=a" }]
expect = ["ignored"]
warmup = 1
repeat = 3
END
minspect --cases sub/m.toml m.so
