# a library for another machine; a bare blob
cp data/formats/14_llvm_noblob.so other.so
case $(uname -m) in x86_64) code='\267' ;; *) code='\076' ;; esac
printf "$code" | dd of=other.so bs=1 seek=18 conv=notrunc 2>/dev/null
minspect --run add other.so 2>error || echo $?
grep -o 'is for .* (64-bit, little-endian); this machine is' error
minspect --run add data/formats/01_opencl_scale.blob
