# cubins made with -lineinfo carry the PTX that they were made of
f=data/device/sums_lines.sm_90.cubin
minspect $f | grep -o 'with its PTX'
minspect show file:0#0.debug.ptx $f | head -n 3
minspect show file:0#0.debug.ptx $f >own.ptx
minspect own.ptx | grep -o "PTX 9.0 for [a-z0-9_]*" | head -n 1
minspect show file:0 --raw $f | cmp - $f && echo same
minspect show file:0 $f | cmp - $f && echo same
minspect extract out $f
(cd out && find . -name '*.ptx')
minspect data/device/sums.sm_90.cubin | grep -c 'its PTX' || true
