# the same as TAP: names and reasons cannot be taken for directives
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
cat >m.toml <<'END'
[[case]]
name = "an # in a name\nand a line"
run = "nothing"

[[case]]
name = "raises"
run = "raise_value_error"

[[case]]
name = "later # todo"
run = "nothing"
skip = "a \"reason\""
END
minspect --tap --cases m.toml m.so || echo $?
