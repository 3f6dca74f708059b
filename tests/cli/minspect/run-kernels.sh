# the host functions of a model are called alone, with known results
lib=data/relax/gelu.so
minspect -q --run matmul $lib --input 4x24xf32=0.5 --input 24x48xf32=2 --out 4x48xf32 --expect 4x48xf32=24 >all
minspect -q --run add $lib --input 4x48xf32=rand --input 48xf32=0 --out 4x48xf32 --expect 4x48xf32=rand >all
minspect -q --run gelu $lib --input 4x48xf32=1 --out 4x48xf32 --expect 4x48xf32=0.8413447 >all
minspect -q --run transpose $lib --input 48x24xf32=rand --out 24x48xf32 --output t.npy >all
minspect -q --run transpose1 $lib --input 24x48xf32=@t.npy --out 48x24xf32 --expect 48x24xf32=rand >all
tr ' ' '\n' <all | sed 's/.*=\[*//;3q'
