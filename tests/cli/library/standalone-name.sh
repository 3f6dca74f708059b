# without -o a standalone library is named after its package, whatever the manifest is called, and a line says so
[ -e "$(dirname "$BIN")/sdk" ] || { echo "this build has no library for applications"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
cat >scale.cl <<'END'
__kernel void scale(__global float *x, float by, int n)
{
	int i = get_global_id(0);
	if (i < n)
		x[i] *= by;
}
END
mpack init scale.cl | sed '0,/"scale"/s//"soft"/' >other.toml
mpack build --standalone --depfile deps other.toml
sed 's/ .$//' deps
ls -1 *.so
mpack build --standalone --quiet other.toml
mpack build --standalone -o named.so other.toml
{ echo 'standalone = true'; sed '/^.package.$/d' other.toml; } | sed '1i [package]' >inside.toml
mpack build inside.toml
# it is read for its name, then built
mpack build --standalone - <other.toml || echo "status $?"
mpack build --standalone -o stdin.so - <other.toml
ls -1 *.so
