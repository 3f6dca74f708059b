# device code that nothing here runs
minspect --run add_kernel data/formats/04_metal.blob --grid 4 --block 4 --input 16xf32=1 --input 16xf32=2 --out 16xf32
