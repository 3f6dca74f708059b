# When minspect is ended, by a signal or by timeout(1), nothing that called code started lives on, wherever it
# went; with namespaces and without.
cc -w -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
cat >bare <<'END'
for kind in user pid mnt; do echo 0 >/proc/sys/user/max_${kind}_namespaces; done
exec "$@"
END
bare=
! unshare -r sh bare true 2>/dev/null || bare='unshare -r sh bare'
printf '[[case]]\nrun = "hang_away"\n' >all.toml
# ends HOW SIGNAL ARGUMENT...
ends()
{
	how=$1 signal=$2
	shift 2
	rm -f pid
	$how minspect "$@" 2>/dev/null &
	until [ -s pid ]; do sleep 0.02; done
	kill "-$signal" $!
	{ wait $! || :; } 2>/dev/null
	sh "$ROOT/tests/cli/left" "$HOME" minspect || echo "$how $signal $*"
}
for how in '' "$bare"; do
	for signal in HUP TERM KILL; do
		ends "$how" $signal --run hang m.so
		ends "$how" $signal --run hang_away m.so
	done
	ends "$how" KILL --cases all.toml m.so
	rm -f pid
	$how timeout 0.5 minspect --run hang_away m.so || [ $? = 124 ]
	sh "$ROOT/tests/cli/left" "$HOME" minspect || echo "$how timeout"
done
