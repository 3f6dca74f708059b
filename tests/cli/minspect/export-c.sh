# TVM's exports with a C host: blob and functions are read from the sources
minspect data/csource/opencl.tar data/csource/host.tar data/csource/mixed.tar data/csource/devc.c data/csource/lib0.c
minspect 'data/csource/opencl.tar(devc.c)' data/csource/legacy_devc.c
minspect --functions data/csource/relax.tar
minspect --verify data/csource/*.tar data/csource/*.c
minspect --json data/csource/opencl.tar | grep -E '"(container|format|machine|member|signature)"'
minspect -q --extract dir data/csource/opencl.tar
find dir -type f | sort
minspect --diff data/formats/20_legacy_opencl.blob data/csource/legacy_devc.c || test $? = 1
# what is wrong in the text has its place
sed 's/0x4c/0x14c/' data/csource/devc.c >bad.c
minspect bad.c 2>&1 || echo $?
sed 's/\[852\]/[900]/' data/csource/devc.c >bad.c
minspect bad.c 2>&1 || echo $?
sed '$d' data/csource/lib0.c >bad.c
echo 'int f(void) {' >>bad.c
minspect bad.c 2>&1 || echo $?
