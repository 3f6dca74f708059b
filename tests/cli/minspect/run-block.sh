# A result that no line holds is printed as a block that fits a screen; --full has all of it, which can be given again.
minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 >block
cat block
awk 'length > 80 { print "too wide: " $0 }' block
minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 --full >full
wc -l <full | tr -d ' '
minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 --expect "$(cat full)" --atol 0 --rtol 0 >again
cmp block again
minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 -o @out.npy >/dev/null
minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 --expect @out.npy --atol 0 --rtol 0 | tail -n 1
