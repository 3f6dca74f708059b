# one field of the headers changed: the offset of the section headers
cp data/formats/01_opencl_scale.so a.so
printf '\377\377\377\377' | dd of=a.so bs=1 seek=40 conv=notrunc status=none
minspect a.so
