# whatever called code does to the process that holds its time - every call that takes a process, its files in
# /proc, programs: that goes on as it was; as root and as a user, with namespaces and without
minspect --version | grep -q '^sandbox.*seccomp' || { echo "no seccomp here, without which it would stop every process of the user"; exit 77; }
cc -w -shared -fPIC -o reach.so "$ROOT/tests/modules/reach.c"
printf '[[case]]\nrun = "reach"\nargs = [{ input = "PID" }, { input = "GROUP" }]\ntimeout = 8\n' >cases
mkdir -m 777 dir
cp reach.so cases dir
chmod 755 . ..
cat >call <<'END'
cd "$1"
group=$(cut -d ' ' -f 5 /proc/$$/stat)
echo "$$" >caller
sed "s/PID/$$/;s/GROUP/$group/" cases >all.toml
case $2 in
run) exec minspect --run reach --timeout 8 reach.so --input $$ --input $group ;;
cases) exec minspect --cases all.toml reach.so ;;
esac
END
# what others could change of it; fields of stat: state, group, session, priority, nice, policy
look()
{
	sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 3,4,16,17,39
	sed 's/.*) \(.\).*/\1/;s/[RSD]/runs/' "/proc/$1/stat"
	cat "/proc/$1/limits" "/proc/$1/comm"
	grep '^Cpus_allowed:\|^Mems_allowed:\|^Tracer\|^Seccomp:' "/proc/$1/status"
	ionice -p "$1" 2>/dev/null
	roots_files "$1"
}
roots_files() { cat "/proc/$1/oom_score_adj" "/proc/$1/coredump_filter" "/proc/$1/timerslack_ns"; }
# attack HOW ACTION: how is a program with arguments that becomes the shell
attack()
{
	how=$1 action=$2
	rm -f dir/go dir/done dir/caller dir/all.toml
	status=0
	$how setsid sh call dir "$action" >out 2>error &
	until [ -s dir/caller ]; do sleep 0.02; done
	caller=$(cat dir/caller)
	until grep -q minspect "/proc/$caller/comm"; do sleep 0.02; done
	sleep 0.3
	look "$caller" >before
	touch dir/go
	for _ in $(seq 350); do
		[ ! -e dir/done ] || break
		sleep 0.02
	done
	look "$caller" >after || echo "it is gone"
	[ -e dir/done ] || echo "not all was tried"
	diff before after || :
	wait $! || status=$?
	echo "$action: status $status"
	! grep -v 'did not return within\|^  \[\|^$' error || :
}
if [ "$(id -u)" != 0 ] || unshare -m true 2>/dev/null; then
	minspect --run kernel_files reach.so --expect 0 >/dev/null
fi
attack '' run
attack '' cases
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	user='setpriv --reuid 65534 --regid 65534 --clear-groups'
	$user test -x "$BIN/minspect" -a -r dir/reach.so || user=
else
	user=
fi
attack "$user" run
attack "$user" cases
# the same where nobody gets a namespace
cat >bare <<'END'
for kind in user pid mnt; do echo 0 >/proc/sys/user/max_${kind}_namespaces; done
exec "$@"
END
if unshare -r sh bare true 2>/dev/null; then
	bare='unshare -r sh bare'
else
	bare=
fi
# root writes what is root's, and without a namespace that has a name (SECURITY.md)
roots_files() { :; }
attack "$bare" run
attack "$bare" cases
rm dir/*
