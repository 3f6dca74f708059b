# every call line that --functions prints works as it stands, unless capitals leave something open; a device
# that is not here is exit status 7
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
find -L data -name '*.so' ! -path 'data/texture/*' | sort >files
[ "$(wc -l <files)" -ge 30 ]
while read -r file; do
	minspect --functions "$file" >functions 2>/dev/null || continue
	grep -o '^ *minspect --run .*' functions | grep -vE 'SHAPE|VALUE|NAME=|X,Y,Z' >calls || continue
	while read -r call; do
		status=0
		sh -c "$call" >out 2>err </dev/null || status=$?
		case $status in
		0 | 7) echo $status >>statuses ;;
		*) echo "$status $call" && cat err ;;
		esac
	done <calls
done <files
# most run: a device that is missing is the exception
[ "$(grep -c 0 statuses)" -ge 45 ] && echo "ok"
