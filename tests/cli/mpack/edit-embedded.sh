# embedded code is replaced where it stands; all else stays
f=data/embedded/embedded.so
mpack edit $f -o new.so --replace cubin:kernels=data/device/two.sm_52.cuda12.cubin --replace cubin:images=data/device/tiny.size.fatbin
minspect new.so | grep -A2 embedded
minspect --diff $f new.so || test $? = 1
minspect -q --extract dir new.so
cmp dir/embedded/0-kernels.cubin data/device/two.sm_52.cuda12.cubin
cmp dir/embedded/1-images.fatbin data/device/tiny.size.fatbin
mpack edit new.so -o back.so --replace cubin:kernels=data/device/two.sm_75.cubin --replace cubin:images=data/device/tiny.none.fatbin
cmp back.so $f
mpack edit data/embedded/embedded.o -o new.o --replace cubin:kernels=data/device/two.ptx
minspect --verify new.o
try()
{
	mpack edit "$1" -o bad.so --replace "$2" 2>&1 || echo $?
	test ! -e bad.so
}
try $f cubin:kernels=data/device/two.sm_90.cubin
try $f cubin:kernel=data/device/two.sm_75.cubin
try $f cubin:kernels=data/device/two.cu
try $f cubin:kernels=missing
try $f cubin:kernels
try $f /0=data/device/two.sm_75.cubin
try data/formats/01_opencl_scale.so cubin:kernels=data/device/two.sm_75.cubin
try data/formats/01_opencl_scale.blob cubin:kernels=data/device/two.sm_75.cubin
mpack edit $f -o bad.so --replace cubin:text=data/device/shape.ptx --replace cubin:text=data/device/shape.ptx 2>&1 || echo $?
mpack edit $f -o other.so --replace cubin:text=data/device/shape.ptx
