# A dry run shows commands that a shell takes, and writes nothing.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
touch host.c
mpack build -o 'my deploy.so' --dry-run --cc cc --ldflag '-Wl,-rpath,$ORIGIN/a b' | sed "s|=$PWD|=PWD|g; s|$TMPDIR|TMP|g"
test ! -e 'my deploy.so'
