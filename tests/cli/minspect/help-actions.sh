# help of an action: its options, at most ten a screen, in 80 columns; every option is on a screen of an action
minspect help run
minspect run --help | cmp - <<END2
$(minspect help run)
END2
minspect --help=run 2 >two
minspect help run 2 | cmp - two
look() { minspect "$@" 2>&1 || echo "status $?"; }
look help
look help rnu
look help run 0
look help run 99 # the last that may be asked for; there is none
look help run 100
look help nothing-like-it
for action in $(minspect --help=table | awk -F '\t' '$6 != "" { print $2 }'); do
	for screen in 1 2 3 4; do
		minspect help "$action" $screen >screen
		[ "$(grep -c '^  .*--[a-z]' screen)" -le 10 ] || echo "help $action $screen: more than ten options"
		[ "$(wc -l <screen)" -le 24 ] || echo "help $action $screen: more than 24 lines"
		cat screen
	done
done >all
for option in $(minspect --help=table | awk -F '\t' '$6 == "" { print $2 }'); do
	grep -q "^  .*--$option\b" all || echo "no action's help has --$option"
done
{ cat all; minspect --help; minspect --help=all; mpack --help; mpack --help=all; for c in build check edit init sign unpack; do
	mpack $c --help; mpack help $c; mpack $c --help=all
done; } | awk 'length > 80'
for c in build check edit init sign unpack; do
	[ "$(mpack $c --help | wc -l)" -le 24 ] || echo "mpack $c --help has more than 24 lines"
done
