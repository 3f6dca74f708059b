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
# try LIBRARIES TARGETS BUDGET BEFORE: the status of each step; none follows one that fails
try()
{
	for step in step.*; do
		status=0
		LIBRARIES=$1 TARGETS=$2 BUDGET=$3 BEFORE=$4 GITHUB_STEP_SUMMARY=summary.md sh -e "$step" >said 2>&1 || status=$?
		echo "$step: $status"
		[ $status -eq 0 ] || { grep -v ': no errors$' said | cut -c 1-120; break; }
	done
}
mkdir last
cp data/relax/gelu.so last/deploy.so
cp data/relax/gelu.so deploy.so
head -c 100000 data/relax/gelu.so >cut.so
for way in 'action.yml run:' 'gitlab.yml -'; do
	steps "$ROOT/scripts/ci/${way% *}" "${way#* }"
	echo "${way% *}: $(ls step.* | wc -l) steps"
	# GitLab hands all lines of a job to one shell
	[ "${way% *}" = action.yml ] || { cat step.* >all && rm step.* && mv all step.all; }
	try deploy.so '--tvm 0.27' 200KiB last
	[ -s mpack-diff.md ] || echo "no difference"
	try 'deploy.so cut.so' '' '' ''
	try deploy.so '--tvm 0.18' '' ''
	try deploy.so '' 100KiB ''
	cp data/relax/gelu_dyn.so last/deploy.so
	try deploy.so '' '' last
	[ -s mpack-diff.md ] && head -n 1 mpack-diff.md
	cp data/relax/gelu.so last/deploy.so
	rm -f mpack-diff.md
done
[ -s summary.md ] && echo "a summary was written"
