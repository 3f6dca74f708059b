# so is what left its process group, session and parent
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run hang_away m.so --timeout 1 || status=$?
pid=$(cat pid)
for _ in 1 2 3 4 5 6 7 8 9 10; do
	# dead, or a zombie that nobody reaps in this container
	state=$(sed 's/.*) //;s/ .*//' /proc/$pid/stat 2>/dev/null || echo gone)
	case $state in gone | Z | X) break ;; esac
	sleep 0.2
done
case $state in gone | Z | X) echo "its child is gone" ;; *) echo "its child lives: $state" ;; esac
exit $status
