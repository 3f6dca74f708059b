minspect 'data/formats/12_syslib_prefix.tar(lib1.o)'
