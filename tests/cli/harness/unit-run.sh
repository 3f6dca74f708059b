# tests/unit/run takes no crash, no missing record and no surplus of skips for a pass. Programs
# that write what Check would stand in for real ones.
program()
{
	printf '#!/bin/sh\necho "output of %s"\n%s\n' "$1" "$2" >"$1"
	chmod +x "$1"
}
tap='printf "%s\n" >"$CK_TAP_LOG_FILE_NAME"'
skip='echo "test: no reason" >>"$MPK_TEST_SKIPS"'

program passes "$(printf "$tap" 'ok 1 - a\nok 2 - b\n1..2')"
program skips "$(printf "$tap" 'ok 1 - a\nok 2 - b\n1..2'); $skip"
program fails "$(printf "$tap" 'ok 1 - a\nnot ok 2 - b\n1..2'); exit 1"
program crashes "$(printf "$tap" 'ok 1 - a'); exit 139"
program leaves "exit 0"
program lies "$(printf "$tap" 'ok 1 - a\n1..1'); exit 3"
program overskips "$(printf "$tap" 'ok 1 - a\n1..1'); $skip; $skip"

one()
{
	status=0
	sh "$ROOT/tests/unit/run" -j 2 "$@" 2>&1 || status=$?
	echo "exit $status"
}
for name in passes skips fails crashes leaves lies overskips; do
	one ./$name
done
# several at a time: their output is whole, their numbers add up
one ./passes ./skips ./fails | sort
one
one -x
