# a block that the kernel was not compiled for, and shared memory where there is none
package() # KIND DATA TAGS LAUNCH
{
	printf '[package]\nname = "x"\n[[module]]\nid = "m"\nkind = "%s"\ndata = "%s"\n  [[module.function]]\n  name = "f"\n  args = ["handle"]\n  launch = [%s]\n[[function]]\nname = "f"\nkernel = "m.f"\nparams = ["x: float32[n]"]\nargs = ["x"]\n%b\n' \
		"$@" >mpack.toml
	mpack check || echo "status $?"
}
ptx() # DIRECTIVE
{
	printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f(.param .u64 a) %s { ret; }\n' "$1" >f.ptx
}
axes='"blockIdx.x", "threadIdx.x", "threadIdx.y"'
ptx '.reqntid 128'
package cuda f.ptx "$axes" 'grid = [1]\nblock = [64]'
package cuda f.ptx "$axes" 'grid = [1]\nblock = [128]'
package cuda f.ptx "$axes" 'grid = [1]\nblock = [128, 2]'
package cuda f.ptx "$axes" 'grid = [1]\nblock = ["n"]'
package cuda f.ptx "$axes" 'grid = [1]\nblock = ["n", 2]'
ptx '.maxntid 64'
package cuda f.ptx "$axes" 'grid = [1]\nblock = [64, 2]'
package cuda f.ptx "$axes" 'grid = [1]\nblock = [32, 2]'
echo '__kernel __attribute__((reqd_work_group_size(16, 4, 1))) void f(__global float *x) {}' >f.cl
package opencl f.cl "$axes" 'grid = [1]\nblock = [64]'
package opencl f.cl "$axes" 'grid = [1]\nblock = [16, 4]'
package opencl f.cl "$axes, \"tirx.use_dyn_shared_memory\"" 'grid = [1]\nblock = [16, 4]\nshared = "256"'
