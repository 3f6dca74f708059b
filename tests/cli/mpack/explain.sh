# an error of a manifest, and then what its word means
printf '[package]\nname = "x"\nnaem = "y"\n' >mpack.toml
mpack check 2>&1 | sed -n 's/.*\[\(.*\)\]$/\1/p' >words || true
while read -r word; do
	mpack --explain "$word"
done <words
mpack --explain zzz || echo "status $?"
