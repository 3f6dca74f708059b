# What bash offers: commands, options, values of options, functions of the file.
command -v bash >/dev/null || { echo "bash is not installed"; exit 77; }
sh "$ROOT/scripts/completion" >completion
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
END
bash offer.bash
test ! -e pwned
