# TVM's own system-lib export, whole and by member
minspect data/formats/12_syslib_prefix.tar 'data/formats/12_syslib_prefix.tar(lib0.o)'
