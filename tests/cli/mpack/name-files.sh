# the name of a package becomes that of a file: no option, no folder, nothing that a terminal obeys
for name in -o - --force . .. './x' 'a/b' 'a\nb' 'a\u001b[2Jb' 'a\u202eb' '\u061c' ; do
	printf '[package]\nname = "%s"\nroot = "h"\n[[module]]\nid = "h"\nkind = "host"\nsources = []\n' "$name" >m.toml
	mpack check m.toml 2>&1 | grep '\[name\]' || echo "taken: $name"
	mpack build m.toml >/dev/null 2>&1 && echo "built: $name"
done
printf '[package]\nname = "a b é.x"\nroot = "h"\n[[module]]\nid = "h"\nkind = "host"\nsources = []\n' >m.toml
mpack check m.toml 2>&1 | grep '\[name\]' || echo "taken: a b é.x"
# bytes in a pipe have the name that is asked for
mpack build - -o x.so <data/formats/01_opencl_scale.blob && ls
