# What mpack(1) shows is what comes out.
ln -s "$ROOT/tests" tests
sed -n '/^\.Sh EXAMPLES/,$p' "$ROOT/man/mpack.1" |
awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0; next } !on { next }
	{ gsub(/\\e/, "\\") }
	/^\$ / { n++; print substr($0, 3) > ("command" n); printf "" > ("wanted" n); next }
	/^> / { print substr($0, 3) > ("command" n); next }
	held != "" { sub(/^ +/, ""); $0 = held $0; held = "" }
	/\\$/ { held = substr($0, 1, length($0) - 1); next }
	{ print > ("wanted" n) }'
n=1
while [ -e command$n ]; do
	sh command$n >got$n 2>&1 || echo "exit status $?" >>got$n
	cmp -s wanted$n got$n || { cat command$n; diff wanted$n got$n; }
	n=$((n + 1))
done
test $n -gt 12
