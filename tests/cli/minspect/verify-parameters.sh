# a table that does not fit the code: a kernel's parameters, a kernel that is not there, a broken image of a fatbin
printf 'int x;\n' >x.c
build() # FORMAT FILE KERNEL ARGS
{
	printf '[package]\nname = "x"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["x.c"]\nimports = ["k"]\n' >mpack.toml
	printf '[[module]]\nid = "k"\nkind = "cuda"\nformat = "%s"\ndata = "%s"\n  [[module.function]]\n  name = "%s"\n  args = [%s]\n  launch = []\n' \
		"$@" >>mpack.toml
	mpack build -q -o x.blob && minspect --verify x.blob
}
build cubin data/device/two.sm_90.cubin scale '"handle", "handle", "float32", "int32"'
# mpack refuses what --verify does: the same in a blob whose bytes were changed
python3 - <<'END'
blob = open("x.blob", "rb").read()
types = bytes([2, 32, 1, 0]) + bytes([0, 32, 1, 0])  # float32, int32
assert blob.count(types) == 1
open("y.blob", "wb").write(blob.replace(types, types[:5] + bytes([64]) + types[6:]))
END
minspect --verify y.blob || echo "status $?"
build cubin data/device/two.sm_90.cubin scale '"handle", "handle", "float32", "int64"' || echo "status $?"
build ptx data/device/two.ptx scale '"handle", "handle", "float32"' || echo "status $?"
build ptx data/device/two.ptx scale '"handle", "handle", "float32", "int32"'
sed 's/entry scale(/entry stale(/' x.blob >y.blob
minspect --functions x.blob | grep 'PTX compute_90'
minspect --verify y.blob || echo "status $?"
minspect --functions y.blob | grep 'not in'
build fatbin data/device/tiny.none.fatbin tiny '"handle"'
python3 - <<'END'
blob = open("x.blob", "rb").read()
at = blob.index(b"\x7fELF")
open("y.blob", "wb").write(blob[:at + 1] + b"X" + blob[at + 2:])
END
minspect --verify y.blob || echo "status $?"
