# Interrupted at any moment, an extraction is whole or not there, and nothing else is left.
head -c 67108864 /dev/zero | tr '\0' w >weights.bin
printf '[package]\nname = "w"\n[[module]]\nid = "w"\nkind = "weights"\npayload = "weights.bin"\n' >mpack.toml
mpack build -o big.so
mkdir here
cd here || exit
for signal in TERM HUP TERM HUP; do
	minspect -q --extract files ../big.so &
	while [ -z "$(ls -A)" ]; do sleep 0.005; done
	kill -$signal $! 2>/dev/null || true
	wait $! 2>/dev/null || true
	[ "$(ls -A)" = "" ] || cmp ../weights.bin files/*/payload.bin
	rm -rf files
	ls -A
done
