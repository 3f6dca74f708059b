# What zsh offers, asked on a terminal of its own as a user asks it: with the tabulator.
command -v zsh >/dev/null || { echo "zsh is not installed"; exit 77; }
mkdir functions
sh "$ROOT/scripts/completion" zsh >functions/_minspect
zsh -n functions/_minspect
mkdir here
cd here || exit
touch a.toml c.txt x.npy d.cl
cp ../data/relax/gelu_opencl.so ../data/embedded/embedded.so .
cat >../offer.zsh <<'END'
zmodload zsh/zpty
zpty -b shell 'PS1= zsh -f -i'
# In there: what would be listed is printed between two marks instead.
cat >../setup.zsh <<'SETUP'
fpath=($PWD/../functions $fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' verbose no
compadd () {
	local -a found
	[[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]] && { builtin compadd "$@"; return }
	builtin compadd -O found "$@"
	builtin compadd "$@"
	local status_=$?
	offered+=($found)
	return status_
}
ask () {
	typeset -ga offered=()
	_main_complete
	print "<$(print -l -- ${(u)offered} | sort | tr '\n' ' ')>" >>../offered
	compstate[insert]= compstate[list]=
}
zle -C ask complete-word ask
bindkey '^I' ask
SETUP
zpty -w shell '. ../setup.zsh; print READ""Y'
zpty -r -m shell line '*READY*'
offer()
{
	: >../offered
	zpty -w -n shell "$1"$'\t'
	repeat 300; do
		[[ -s ../offered ]] && break
		sleep 0.1
	done
	print -r -- "$1: $(<../offered)"
	zpty -w -n shell $'\x15'
}
offer 'mpack '
offer 'mpack build --ab'
offer 'mpack build --abi '
offer 'mpack check '
offer 'mpack init d'
offer 'mpack edit embedded.so --replace '
offer 'mpack --explain blob-'
offer 'minspect --func'
offer 'minspect --run fused_m'
offer 'minspect gelu_opencl.so --run fused_m'
offer 'minspect --digest='
offer 'minspect --device '
offer 'minspect --cases '
offer 'minspect ru'
offer 'minspect run fused_m'
offer 'minspect run fused_matmul g'
offer 'minspect verify g'
offer 'minspect html g'
offer 'minspect help di'
offer 'minspect explain blob-d'
offer 'minspect dot '
offer 'minspect --explain kind'
zpty -d shell
END
zsh -f ../offer.zsh
