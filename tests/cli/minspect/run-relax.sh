# models for the Relax VM that TVM compiled give TVM's own numbers: as byte code, recorded, and by their plan
lib=data/relax
for name in gelu gelu_dyn embed_dyn twoout_dyn; do
	set -- --input @$lib/$name.in0.npy
	for out in $lib/"$name".out?.npy; do
		set -- "$@" --expect "@$out"
	done
	minspect --run forward $lib/$name.so "$@" --rtol 1e-5 --atol 1e-5 --repeat 4 >/dev/null
	echo "$name"
done
# a dynamic extent may be any other, by name too; one that is wrong is not
minspect --run forward $lib/twoout_dyn.so --input x=1x8xf32=1 --expect 1xf32=0.78927785 --expect ignored
minspect --run forward $lib/twoout_dyn.so --input x=0x8xf32
minspect --run forward $lib/gelu.so --input 4x17xf32 || echo $?
minspect --run main data/formats/06_relax_vm.so --input 4xf32=1
