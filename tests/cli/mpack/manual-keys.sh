# Every key and every kind that the program knows stands in the manual.
keys=$(grep -ohE '\b(MPK_SCHEMA_KEY|STEP)\([A-Z]+, (struct [a-z_]+, |type, member, )?[a-z_]+|\.name = "[a-z_]+"' \
	"$ROOT/lib/pack/manifest/schema.c" "$ROOT/lib/pack/manifest/row.c" "$ROOT/lib/pack/manifest/launch.c" |
	sed 's/"$//; s/.*[ "]//')
kinds=$(grep -oE '\bDEVICE\("[a-z]+|\{ "[A-Za-z_]+", *("|$)|^\t\{ "[A-Za-z_]+"' "$ROOT/lib/pack/manifest/schema.c" |
	sed 's/^[^"]*"//; s/".*//')
test "$(echo "$keys" | wc -w)" -ge 25
test "$(echo "$kinds" | wc -w)" -ge 14
missing=0
for word in $keys $kinds; do
	case $word in package | module | function) continue ;; esac
	grep -Eq "^\.(It|Li|Cm).*\b$word\b|^(and )?\.Cm.*\b$word\b" "$ROOT/man/mpack.toml.5" ||
		{ echo "not in the manual: $word"; missing=1; }
done
exit $missing
