# What is printed can be pasted: a shell takes back every word, whatever stands in it.
export BEFORE=unchanged
cp data/formats/01_opencl_scale.blob in.blob
cat >cc <<'EOF'
#!/bin/sh
for word in "$@"; do printf '%s\0' "$word"; done >>"$0.said"
exec cc "$@"
EOF
chmod +x cc
mpack build in.blob -o deploy.so --print-commands --cc "$PWD/cc" --save-temps kept \
	--ldflag '-Wl,-rpath,$ORIGIN/a b' --ldflag '-Wl,-rpath,`touch no`' --ldflag '-Wl,-rpath,!x' \
	--ldflag "-Wl,-rpath,it's" --ldflag '-Wl,-rpath,~/lib' --ldflag "-Wl,-rpath,two
lines" --ldflag '-Wl,-rpath,$(touch no)' 2>err
mv cc.said said
sed 1d err >line.sh # the first line is LLVM's
sed "s|$PWD|PWD|g; s|build-id=0x[0-9a-f]*|build-id=0xID|" line.sh
sh line.sh
cmp said cc.said
test ! -e no
