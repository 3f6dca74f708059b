# device code of nvcc, ptxas and spirv-as: the figures are those ptxas -v printed (tests/data/device);
# names in the code that the table leaves out, and the members of a static library
printf '.version 7.0\n.target sm_70\n.address_size 64\n.func helper() { ret; }\n.visible .entry other() { ret; }\n' \
	>helper.ptx
printf 'int twice(int x) { return 2 * x; }\n' >lib.c
cc -c lib.c -o lib.o
ar rcD lib.a lib.o lib.c
python3 -c '
import struct
data = open("lib.a", "rb").read()
open("library.bin", "wb").write(struct.pack("<Q", len(data)) + data + struct.pack("<Q", 0))'
size=$(wc -c <lib.o | tr -d ' ')
module() # ID KIND FORMAT FILE
{
	printf '[[module]]\nid = "%s"\nkind = "%s"\nformat = "%s"\ndata = "%s"\n' "$@"
}
kernel() # NAME ARGS
{
	printf '  [[module.function]]\n  name = "%s"\n  args = [%s]\n  launch = []\n' "$@"
}
{
	printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["lib.c"]\n'
	printf 'imports = ["cubin", "fatbin", "debug", "ptx", "helper", "shader", "library"]\n'
	module cubin cuda cubin data/device/two.sm_90.cubin
	kernel scale '"handle", "handle", "float32", "int32"'
	module fatbin cuda fatbin data/device/tiny.speed.fatbin
	kernel tiny '"handle"'
	module debug cuda fatbin data/device/tiny.debug.fatbin
	kernel tiny '"handle"'
	module ptx cuda ptx data/device/shape.ptx
	kernel cluster '"handle"'
	module helper cuda ptx helper.ptx
	kernel other ''
	printf '[[module]]\nid = "shader"\nkind = "vulkan"\n'
	kernel plain '"handle"'
	printf '  data = "data/device/compute.spv"\n'
	kernel by_id '"handle"'
	printf '  data = "data/device/compute.spv"\n'
	printf '[[module]]\nid = "library"\nkind = "static_library"\npayload = "library.bin"\n'
} >mpack.toml
mpack build -q -o deploy.blob
minspect --functions deploy.blob | sed "s/lib.o, $size B/lib.o, N B/; s/minspect run .*/.../"
