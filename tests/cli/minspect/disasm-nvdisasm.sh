# The real nvdisasm, where it is installed: a kernel is its part of what nvdisasm prints of the whole.
command -v nvdisasm >/dev/null || { echo "nvdisasm is not installed"; exit 77; }
for file in two.sm_75 two.sm_90 tiny.sm_100; do
	cp data/device/$file.cubin .
	mpack init $file.cubin | sed '/^\[\[function/,$d' >$file.toml
	mpack build $file.toml -o $file.blob
	nvdisasm -c $file.cubin >all
	minspect --disasm=/ $file.blob | sed 1d | diff -B all - && echo "$file: all of it"
	for kernel in $(sed -n 's/^\/\/-* \.text\.\([a-z]*\) .*/\1/p' all); do
		minspect --disasm="/#$kernel" $file.blob | sed 1d >one
		grep -q "^$kernel:" one
		sed -n "/^\/\/-* \.text\.$kernel /,/^\.L_x_[0-9]*:\$/p" all | head -n 20 | diff -B - one | grep '^<' || true
	done
done
