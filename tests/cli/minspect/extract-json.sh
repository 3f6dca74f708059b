minspect --extract out --json data/formats/04_metal.blob
ls -A
