# Progress goes to standard error, which here is no terminal: only when it is asked for.
# A busy machine shows seconds first.
head -c 8000000 /dev/zero | tr '\0' w >weights.bin
printf '[package]\nname = "w"\n[[module]]\nid = "w"\nkind = "weights"\npayload = "weights.bin"\n' >mpack.toml
mpack build -o w.so
mpack build -o w.so --progress=never
mpack build -o w.so --progress=always -q
mpack build -o w.so --progress=always 2>shown
tr '\r' '\n' <shown | grep -qE '^packing +[0-9]+(%  [0-9]+ MiB/s  [0-9]+ s left| s) '
echo shown
# The line is wiped at the end.
tail -c 4 shown | od -An -c
