# Every key and every kind that the program knows stands in the manual.
keys=$(sed -n 's/.*KEY([A-Z]*, [a-z_ ]*, \([a-z_]*\),.*/\1/p; s/.*OWN([A-Z]*, \([a-z]*\)).*/\1/p; s/.*\.name = "\([a-z_]*\)", \.kind.*/\1/p' \
	"$ROOT/lib/manifest/schema.c")
kinds=$(sed -n 's/.*DEVICE("\([a-z]*\)".*/\1/p; s/^\t{ "\([A-Za-z_]*\)", ".*/\1/p' "$ROOT/lib/manifest/mkind.c")
test "$(echo "$keys" | wc -w)" -ge 25
test "$(echo "$kinds" | wc -w)" -ge 14
missing=0
for word in $keys $kinds; do
	case $word in package | module | function) continue ;; esac
	grep -Eq "^\.(It|Li|Cm).*\b$word\b|^(and )?\.Cm.*\b$word\b" "$ROOT/man/mpack.toml.5" ||
		{ echo "not in the manual: $word"; missing=1; }
done
exit $missing
