# a library without any module: what was looked for
echo 'int f(void) { return 1; }' >a.c
${CC:-cc} -shared -fPIC -o a.so a.c
minspect a.so
