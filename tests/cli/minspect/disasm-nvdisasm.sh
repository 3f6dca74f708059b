# The real nvdisasm, where it is installed: a kernel is its part of what nvdisasm prints of the whole.
# What is counted and scheduled, which minspect adds, is taken out.
plain() { sed '1d; /^\/\/ /d; s|\(/\*[0-9a-f]*\*/\)  B[-0-9]*:R.:W.:.:S..|\1            |'; }
command -v nvdisasm >/dev/null || { echo "nvdisasm is not installed"; exit 77; }
for file in two.sm_75 two.sm_90 tiny.sm_100; do
	cp data/device/$file.cubin .
	mpack init $file.cubin | sed '/^\[\[function/,$d' >$file.toml
	mpack build $file.toml -o $file.blob
	nvdisasm -c $file.cubin >all
	minspect --disasm=/ $file.blob | plain | diff -B all - && echo "$file: all of it"
	for kernel in $(sed -n 's/^\/\/-* \.text\.\([a-z]*\) .*/\1/p' all); do
		minspect --disasm="/#$kernel" $file.blob | plain >one
		grep -q "^$kernel:" one
		sed -n "/^\/\/-* \.text\.$kernel /,/^\.L_x_[0-9]*:\$/p" all | head -n 20 | diff -B - one | grep '^<' || true
	done
done
