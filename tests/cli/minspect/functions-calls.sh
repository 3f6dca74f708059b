# every call line that --functions prints works as it stands, unless capitals leave something open; a device
# that is not here is exit status 7
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
# (C hosts are compiled with TVM's headers: tests/interop calls those)
find -L data -path data/csource -prune -o \( -name '*.so' -o -name '*.blob' -o -name '*.o' -o -name '*.a' -o -name '*.tar' \) -print | sort >files
[ "$(wc -l <files)" -ge 30 ]
while read -r file; do
	minspect --functions "$file" >functions 2>/dev/null || continue
	grep -o '^ *minspect run .*' functions | grep -vE 'LIBRARY|SHAPE|VALUE|SCOPE|EXTENT|NAME=|--(grid|block) X' >calls || continue
	while read -r call; do
		status=0
		sh -c "$call" >out 2>err </dev/null || status=$?
		case $status in
		0 | 7) echo $status >>statuses ;;
		*) echo "$status $call" && cat err ;;
		esac
	done <calls
done <files
# what stands in capitals is values alone: a kernel's line runs with them filled in
fill() { sed 's/SHAPEx/8x/g; s/=VALUES/=rand/g; s/i32=VALUE/i32=8/; s/f32=VALUE/f32=2/; s/--grid X/--grid 1/; s/--block X/--block 8/'; }
minspect --functions data/formats/01_opencl_scale.so | grep 'run scale_kernel' | fill >call
sh -e call
minspect --functions data/texture/fixed_t2t_float32.so | grep 'run main_kernel' | sed 's/SHAPEx/8x16x4x/g; s/TYPE/f32/g' | fill >call
sh -e call >image
# most run: a device that is missing is the exception
[ "$(grep -c 0 statuses)" -ge 45 ] && echo "ok"
