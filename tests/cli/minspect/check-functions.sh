# A virtual machine starts when every function of its table is there: in the file, or registered by the runtime
mkdir libs
see()
{
	minspect --check --machine x86_64 --glibc 2.36 --libs libs "$@" || echo "status $?"
}
# rename NAME AS OUT: an executable that names another function; names of one length, so that the file keeps its form
rename()
{
	LC_ALL=C sed "s/$1/$2/g" data/formats/06_relax_vm.so >"$3"
}
rename vm.builtin.null_value vm.builtin.no_such_fn no-such.so
rename vm.builtin.null_value tvm.contrib.cblas.mat blas.so
rename vm.builtin.check_tensor_info vm.builtin.check_string_info string.so
rename vm.builtin.check_tensor_info vm.builtin.copy_and_more_xyz own.so
rename vm.builtin.null_value relax.run.print______ print.so
rename vm.builtin.check_tensor_info runtime.DNNLJSONRuntimeCreat dnnl.so
echo "-- a function that nobody has"
see --tvm 0.27 no-such.so
see --tvm 0.26 own.so
echo "-- one that a build with another option has"
see --tvm 0.27 blas.so
echo "-- one that other releases have"
see --tvm 0.25 string.so
see --tvm 0.26 string.so
echo "-- releases of which nobody knows"
see --tvm 0.24 no-such.so
echo "-- what no module and no runtime is known of is open in a bare blob, builtins are not"
minspect --show / no-such.so >/dev/null
minspect --extract x no-such.so >/dev/null
LC_ALL=C sed 's/vm.builtin.null_value/vm.builtin.no_such_fn/g' data/formats/06_relax_vm.blob >no-such.blob
see --tvm 0.27 no-such.blob
see --tvm 0.27 data/formats/06_relax_vm.blob
