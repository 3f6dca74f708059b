# code for GPUs in a file of its own is looked at as a library is, by every action; what it is its bytes tell, not its name
minspect --show .hip_fatbin:0 --raw data/gpu/hip-packed.so >packed.txt
for f in data/device/* data/gpu/* packed.txt; do
	minspect --json=lines "$f" 2>/dev/null | grep -q '"container":"gpu-code"' && echo "$f"
done >kinds
grep -c . kinds
# each action has a row here with what it needs; a new one has to be added
for action in $(minspect --help=table | awk -F '\t' '$6 != "" { print $2 }'); do
	expected="0"
	case $action in
	functions | size | verify | check | json | disasm | svg) set -- ;;
	diff) set -- data/device/two.ptx; expected="0 1" ;;
	extract) set -- out ;;
	show) set -- file:0; expected="0 2" ;; # 2: a container of several parts, one of which is to be named
	html | header) set -- out.file ;;
	dot) set -- tree; expected="0 5" ;; # 5: there is no tree
	baseline) set -- baseline.json --update-baseline ;;
	sbom) set -- cyclonedx ;;
	attestation) set -- statement --builder https://b.example; expected="4" ;; # 4: it does not tell what it was made from
	run) set -- f; expected="6" ;;
	cases) set -- f.toml; expected="6" ;;
	code-digest | occupancy | memory) set -- ;;
	stats) set --; expected="4" ;; # 4: it is no file of weights
	devices | explain | help | version) continue ;; # take no FILE
	*) echo "action $action: has no row in this case"; continue ;;
	esac
	[ "$action" != disasm ] || expected="0 6" # 6: the vendor's tool is not here
	while read -r f; do
		status=0
		printf '[[case]]\nrun = "f"\n' >f.toml
		printf '{"schema_version": 1, "files": []}' >baseline.json
		minspect "$action" "$@" "$f" >answer 2>&1 || status=$?
		want=$expected
		case $action$f in disasm*.bc | disasm*.ltoir | disasm*.tileirbc) want=4 ;; esac # no disassembler
		case " $want " in *" $status "*) ;; *) echo "$action $f: status $status"; head -n 3 answer ;; esac
		grep -E "compiled module|no module" answer || true
		rm -rf out out.file
	done <kinds
done
