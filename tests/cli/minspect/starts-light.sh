# what takes no digest, no machine code and no device opens no library once it runs: a listing takes a millisecond
LD_DEBUG=files minspect --version 2>&1 | grep -q 'initialize program' || { echo "this C library does not say what it opens"; exit 77; }
f=data/formats/01_opencl_scale.so
for action in '' --functions --json --size --check --diff=$f --header=x.h --svg '--show=/' --dot=tree; do
	LD_DEBUG=files LD_DEBUG_OUTPUT=opened minspect $action $f >/dev/null
	echo "$action: $(cat opened.* | sed '1,/initialize program/d' | grep -c 'calling init:')"
	rm opened.*
done
