# the lines for Meson and make: a build of nothing does nothing, a changed kernel packs again
for tool in meson ninja make cc; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
printf '__kernel void scale(__global float *x) { x[get_global_id(0)] *= 3; }\n' >scale.cl
mpack init scale.cl >mpack.toml
cp "$ROOT/tests/build/meson/meson.build" "$ROOT/tests/build/make/Makefile" .
meson setup out >log 2>&1 || { cat log; exit 1; }
# packed COMMAND...: how often it runs mpack
packed()
{
	"$@" >log 2>&1 || { cat log; exit 1; }
	echo "$(grep -c 'mpack build' log) by $1"
}
for change in none again kernel; do
	[ $change != kernel ] || sed -i 's/\*=/+=/' scale.cl
	packed ninja -C out -v
	packed make
done
cmp out/deploy.so deploy.so && minspect --show /0 deploy.so | grep -o '+= 3'
