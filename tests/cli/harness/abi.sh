# scripts/check-abi finds what a program that was linked with the library, or reads the JSON, would trip over
command -v python3 >/dev/null && command -v abidiff >/dev/null || exit 77
check() { "$ROOT/scripts/check-abi" "$@"; }

# document FOLDER PROPERTIES REQUIRED
document()
{
	mkdir -p "$1"
	cat >"$1/minspect-size.schema.json" <<-END
		{"type": "object", "properties": {"file": {"type": "string"}, $2},
		 "required": [$3], "\$defs": {"part": {"type": "object", "properties": {
		 "bytes": {"type": "integer"}, "parts": {"type": "array", "items": {"\$ref": "#/\$defs/part"}}}}}}
	END
}
kind='"kind": {"enum": ["a", "b"]}'
part='"part": {"$ref": "#/$defs/part"}'
number='"number": {"type": "number"}'
text='"text": {"oneOf": [{"type": "string"}, {"type": "null"}]}'
document old "$kind, $number, $part, $text" '"file", "kind"'
# documents NAME PROPERTIES REQUIRED [SED]: what is found in a document that came of the old one
documents()
{
	echo "== $1"
	document new "$2" "$3"
	sed -i "${4-}" new/*
	check --schemas old new || :
}
documents 'nothing new' "$kind, $number, $part, $text" '"file", "kind"'
documents 'another key and word, required sooner' "${kind%]*}, \"c\"]}, $number, $part, $text, \"more\": {}" '"file", "kind", "text"'
documents 'null went away' "$kind, $number, $part, \"text\": {\"type\": \"string\"}" '"file", "kind"'
documents 'an integer of a number' "$kind, \"number\": {\"type\": \"integer\"}, $part, $text" '"file", "kind"'
documents 'anything' "$kind, \"number\": {}, $part, $text" '"file", "kind"'
documents 'a key is gone' "$kind, $number, $part" '"file", "kind"'
documents 'a key may be missing' "$kind, $number, $part, $text" '"file"'
documents 'null, too' "\"kind\": {\"enum\": [\"a\", \"b\", null]}, $number, $part, $text" '"file", "kind"'
documents 'a key far down is gone' "$kind, $number, $part, $text" '"file", "kind"' 's/"bytes"/"size"/'
documents 'other items' "$kind, $number, $part, $text" '"file", "kind"' \
	's|"items": {"$ref": "#/$defs/part"}|"items": {"type": "string"}|'
rm new/* && echo '== no document'
check --schemas old new || :

# library NAME SED: what is found in a library whose sources came of the old ones
library()
{
	echo "== $1"
	rm -rf new && cp -R old new && sed -i "$2" new/run.c new/run.h
	cc -g -shared -fPIC -o new/lib.so new/run.c
	check --library old/lib.so new/lib.so new/run.h | grep -E '^(ok|FAIL)'
}
rm -rf old new && mkdir old
cat >old/run.h <<'END'
#include <stddef.h>
enum kind { KIND_A, KIND_B };
struct options {
	size_t size;
	int first;
};
struct plain {
	int first;
};
struct hidden;
int call(const struct options *o, const struct plain *p, struct hidden *h);
enum kind ask(int x);
END
cat >old/run.c <<'END'
#include "run.h"
struct hidden {
	int state;
};
int call(const struct options *o, const struct plain *p, struct hidden *h) { return o->first + p->first + h->state; }
enum kind ask(int x) { return (enum kind)x; }
END
cc -g -shared -fPIC -o old/lib.so old/run.c
library 'a function, an enumerator at the end' '/^enum kind ask/a\
int more(void);
s/KIND_B }/KIND_B, KIND_C }/'
library 'a member at the end of a struct with its size' '/size_t size;/{n;s/$/\
	long more;/;}'
library 'a member of what is opaque' 's/int state;/& long more;/'
library 'a member before others' 's/size_t size;/&\
	long more;/'
library 'a member at the end of a struct without its size' '/^struct plain/{n;s/$/\
	long more;/;}'
library 'an enumerator before others' 's/{ KIND_A/{ KIND_0, KIND_A/'
library 'another argument' 's/ask(int x)/ask(int x, int y)/'
library 'a function is gone' '/^enum kind ask/d'
