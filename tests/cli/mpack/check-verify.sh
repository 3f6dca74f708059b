# One set of checks: what minspect --verify calls an error, check and build refuse, at the line that names the payload
one() # KIND PAYLOAD
{
	printf '[package]\nname = "x"\n[[module]]\nid = "m"\nkind = "%s"\npayload = "%s"\n' "$1" "$2" >mpack.toml
	both
}
kernels() # KIND DATA ARGS TAGS
{
	printf '[package]\nname = "x"\n[[module]]\nid = "m"\nkind = "%s"\ndata = "%s"\n  [[module.function]]\n  name = "f"\n  args = [%s]\n  launch = [%s]\n' \
		"$@" >mpack.toml
	both
}
both()
{
	mpack check || echo "check: $?"
	mpack build -o x.blob 2>build.err || echo "build: $?"
	test ! -e x.blob || { minspect --verify x.blob; rm x.blob; }
}
printf '\1' >one.bin
for kind in const_loader static_library c relax.VMExecutable; do
	one $kind one.bin
done
printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) { ret; }\n' >f.ptx
kernels cuda f.ptx '"handle", "handle", "handle"' '"threadIdx.x"'
kernels cuda f.ptx '"handle", "handle", "handle", "int32"' '"threadIdx.x"'
printf '.version 8.0\n.target sm_90\n.visible .func f() { ret; }\n' >g.ptx
kernels cuda g.ptx '' ''
echo '__kernel void f(__global float *a);' >proto.cl
kernels opencl proto.cl '"handle"' '"threadIdx.x"'
echo 'f is a kernel; read this' >README.cl
kernels opencl README.cl '"handle"' '"threadIdx.x"'
