# the shell steps of the GitHub Action and of the GitLab template, as their runners would run them
# steps FILE KEY: each block of text after KEY becomes a script of its own
steps()
{
	rm -f step.*
	awk -v key="$2" '
		block && /[^ ]/ && match($0, /[^ ]/) - 1 < indent { block = 0 }
		block { print substr($0, indent + 1) >file; next }
		$0 ~ "^ *" key " [|]$" { getline line; match(line, /[^ ]/); indent = RSTART - 1; block = 1
			file = sprintf("step.%d", ++count); print substr(line, indent + 1) >file }' "$1"
}
# try LIBRARIES TARGETS BUDGET BEFORE: the status of the step, and the first lines of what it says
try()
{
	status=0
	LIBRARIES=$1 TARGETS=$2 BUDGET=$3 BEFORE=$4 GITHUB_STEP_SUMMARY=summary.md GITHUB_ACTION_PATH=$ROOT/scripts/ci \
		sh -e step.1 >said 2>&1 || status=$?
	echo "status $status"
	[ $status -eq 0 ] || sed '/^review: no comment/,$d' said | cut -c 1-120
	sed -n '1p;/^| /p' mpack-review.md | cut -c 1-120 | head -n 4
}
# the template finds the program beside minspect
mkdir -p last bin share/mpack
cp "$(command -v minspect)" bin/minspect
ln -s "$ROOT/scripts/ci" share/mpack/ci
PATH=$PWD/bin:$PATH
cp data/relax/gelu.so last/deploy.so
cp data/relax/gelu.so deploy.so
head -c 100000 data/relax/gelu.so >cut.so
for way in 'action.yml run:' 'gitlab.yml -'; do
	steps "$ROOT/scripts/ci/${way% *}" "${way#* }"
	echo "${way% *}: $(ls step.* | wc -l) step"
	try deploy.so '--tvm 0.27' 200KiB last
	try 'deploy.so cut.so' '' '' ''
	try deploy.so '--tvm 0.18' '' ''
	try deploy.so '' 100KiB ''
	cp data/relax/gelu_dyn.so last/deploy.so
	try deploy.so '' '' last
	grep '^### ' mpack-review.md
	cp data/relax/gelu.so last/deploy.so
	try '' '' '' '' 2>&1 | head -n 2
done
[ -s summary.md ] && echo "a summary was written"
