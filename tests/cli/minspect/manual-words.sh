# The manual names every check, every schema, every kind of module and every launch tag there is.
kinds=$(sed -n 's/^\t[A-Z]*("\([^"]*\)",.*/\1/p; s/^\t{ "\([^"]*\)",.*/\1/p' "$ROOT/formats/kinds.def")
checks=$(sed -n 's/^\t{ "\([a-z-]*\)", ".*/\1/p' "$ROOT"/lib/show/verify/*.c
	sed -n 's/^\t\.check = "\(.*\)",$/\1/p' "$ROOT"/lib/know/code/*.c)
schemas=$(cd "$ROOT/man/schema" && ls | sed 's/\.schema\.json//')
tags=$(sed -n 's/.*"\(tirx\.[a-z_]*\)".*/\1/p' "$ROOT/formats/kernels/read.c")
test "$(echo "$kinds" | wc -w)" -ge 40
test "$(echo "$checks" | wc -w)" -ge 20
test "$(echo "$schemas" | wc -w)" -ge 9
test "$(echo "$tags" | wc -w)" -ge 3
missing=0
# look PAGE WORD...
look()
{
	page=$1
	shift
	for word in "$@"; do
		grep -Eq "^\.(It|Li|Pa|Fl|Ic) (.* )?$word( .*)?$" "$ROOT/man/$page" ||
			{ echo "$page: $word is missing"; missing=1; }
	done
}
# shellcheck disable=SC2086
look tvm-blob.5 $kinds $tags
# shellcheck disable=SC2086
look minspect.1 $checks $schemas
exit $missing
