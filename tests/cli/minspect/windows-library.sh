printf 'MZ\220\0' >a.dll
minspect a.dll
