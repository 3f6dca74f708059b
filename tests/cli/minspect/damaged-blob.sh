# A count that the file makes up must not become an allocation: it is refused where it stands.
cp data/formats/01_opencl_scale.so a.so
printf '\377\377' | dd of=a.so bs=1 seek=$((0x225a + 8)) conv=notrunc status=none
minspect a.so
