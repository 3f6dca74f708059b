echo 'int x;' >a.c
minspect a.c
