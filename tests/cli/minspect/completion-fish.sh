# What fish offers.
command -v fish >/dev/null || { echo "fish is not installed"; exit 77; }
export HOME="$PWD"
sh "$ROOT/scripts/completion" fish >minspect.fish
fish -n minspect.fish
mkdir here
cd here || exit
mkdir sub
touch a.toml c.txt x.npy d.cl
cp ../data/relax/gelu_opencl.so ../data/embedded/embedded.so .
sed 's/scale_kernel/$(>pwned)xyz/g' ../data/formats/01_opencl_scale.blob >hostile.blob
cat >../offer.fish <<'END'
source ../minspect.fish
# fish 4 also offers what has the word in its middle
function offer
	set -l word (string split ' ' -- "$argv")[-1]
	set -l offered (complete -C "$argv" | cut -f 1 | string match -- "$word*" | sort -u)
	echo "$argv: $offered"
end
offer 'mpack '
offer 'mpack build --ab'
offer 'mpack build --abi '
offer 'mpack check a'
offer 'mpack edit embedded.so --replace '
offer 'mpack edit embedded.so --replace /0=d'
offer 'mpack --explain blob-'
offer 'minspect --func'
offer 'minspect --run fused_m'
offer 'minspect gelu_opencl.so --run fused_m'
offer 'minspect hostile.blob --run '
offer 'minspect --digest='
offer 'minspect --device '
offer 'minspect --cases '
offer 'minspect '
offer 'minspect ru'
offer 'minspect run fused_m'
offer 'minspect run fused_matmul g'
offer 'minspect verify g'
offer 'minspect html g'
offer 'minspect help di'
offer 'minspect explain blob-d'
offer 'minspect dot '
offer 'minspect --explain kind'
offer 'minspect --run f --input @x'
END
fish ../offer.fish
test ! -e pwned
