# The real nvdisasm, where it is installed: as many instructions come and go as diff(1) finds in what it prints.
command -v nvdisasm >/dev/null || { echo "nvdisasm is not installed"; exit 77; }
command -v diff >/dev/null || { echo "diff is not installed"; exit 77; }
for f in sums sums_spill; do
	cp data/device/$f.sm_90.cubin $f.cubin
	nvdisasm -c $f.cubin | sed -n '/^\/\/-* \.text\.sums /,/^\/\/-* \.text\.copy /p' |
		sed -n 's,^ */\*[0-9a-f]*\*/ *,,p; /^\.L/p' | sed 's/\b\(U\?[RP]\|S\?B\)[0-9]\+\b/\1/g; s/L_x_[0-9]*/L/g; s/ *$//' |
		tac | sed '/^NOP\|^\.L:/!{:a;n;ba};d' | tac >$f.txt
done
minspect --diff sums.cubin sums_spill.cubin | sed -n 's/.*; \([0-9]*\) instructions\? removed, \([0-9]*\) added.*/\1 \2/p' >ours
echo "$(diff -d sums.txt sums_spill.txt | grep -c '^<') $(diff -d sums.txt sums_spill.txt | grep -c '^>')" >theirs
cmp ours theirs
minspect --diff sums.cubin sums_spill.cubin | grep -q '^  +.*STL '
