# what is wrong with one kernel stands at its row, in text and JSON
cat >k.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry one(.param .u64 x, .param .u64 y) { ret; }
.visible .entry two(.param .u64 x, .param .u64 y) { ret; }
.visible .entry three(.param .u64 x, .param .u64 y) { ret; }
END
{
	printf '[package]\nname = "k"\n[[module]]\nid = "k"\nkind = "cuda"\ndata = "k.ptx"\n'
	for kernel in one two three; do
		printf '[[module.function]]\nname = "%s"\nargs = ["handle", "handle"]\nlaunch = ["threadIdx.x"]\n' $kernel
	done
} >mpack.toml
mpack build -o good.blob
minspect --functions good.blob | grep -c error || :
LC_ALL=C sed '/entry one/s/u64 y/u32 y/; s/entry three/entry threx/' good.blob >bad.blob
minspect --functions bad.blob | grep -v 'minspect run'
minspect -v bad.blob | tail -n 11
minspect --json -v bad.blob | grep -c '"check"'
minspect --json --functions bad.blob | grep -A 6 '"findings"'
minspect --json --verify bad.blob | grep '"kernel"'
