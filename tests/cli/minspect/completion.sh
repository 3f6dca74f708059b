# What bash offers: commands, options, values of options, functions and tree paths of the file.
command -v bash >/dev/null || { echo "bash is not installed"; exit 77; }
sh "$ROOT/scripts/completion" >completion
bash -n completion
sed 's/scale_kernel/$(>pwned)xyz/g' data/formats/01_opencl_scale.blob >hostile.blob
cat >offer.bash <<'END'
source ./completion
# offer WORD...: what completes the last word
offer()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	"_$1"
	echo "$*: ${COMPREPLY[*]}"
}
offer mpack ''
offer mpack b
offer mpack build --s
offer mpack build --abi ''
offer mpack build --emit t
offer mpack build --via ''
offer mpack edit --
offer minspect --f
offer minspect --color a
offer minspect --device ''
# the file may stand before the option, as on a line that is being changed
offer minspect data/relax/gelu_opencl.so --run fused
offer minspect missing.so --run ''
offer minspect hostile.blob --run ''

# values that stand in no list of the help
offer minspect --check --tvm 0.2
offer minspect --extract x --digest ''
offer minspect --explain blob-d
offer minspect --explain kind kind-
offer mpack --explain launch-b
# behind "=" as behind a blank: bash makes words of "--digest", "=" and the value
offer minspect --digest = sha
offer minspect --color =
offer minspect --help = a
offer minspect --sbom = ''
offer minspect --attestation = p
offer minspect --dot ''
offer mpack build --target a
# an optional value has no word of its own
offer minspect --profile x

# paths of modules and kernels, then a file; ":" cuts a word, too
offer mpack edit data/formats/07_relax_opencl.so --replace /0/
offer mpack edit data/embedded/embedded.so --replace cubin : k
offer mpack edit data/formats/07_relax_opencl.so --replace /0/0 = x

# files by their suffix, and folders
mkdir -p here/sub && cd here
touch a.toml b.so c.txt d.cl e.npy 'f g.so'
offer mpack check ''
offer mpack init ''
offer minspect b
offer minspect f
offer minspect --cases ''
offer minspect --extract ''
offer minspect --run f --input @
# what the README writes: the function first, then the file; here lies one library
cp ../data/relax/gelu_opencl.so .
offer minspect --run fused_m
# an action as a word
offer minspect ru
offer minspect run fused_m
offer minspect run fused_matmul g
offer minspect verify g
offer minspect html g
offer minspect help di
offer minspect explain blob-d
offer minspect dot ''
END
bash offer.bash
test ! -e pwned
