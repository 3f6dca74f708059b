# Graphviz draws what --dot prints of every file, whatever names are in it; one library has no tree
command -v dot >/dev/null || { echo "graphviz is not installed"; exit 77; }

printf 'x' >text.bin
cat >names.toml <<'END'
[package]
name = "names"
[[module]]
id = "a"
kind = 'quote " backslash \ and \" [x] {y} <z> -> \N'
payload = "text.bin"
END
mpack build -q names.toml -o names.blob
for file in data/*/*.so data/*/*.blob names.blob; do
	minspect --dot tree "$file" 2>/dev/null >tree.dot && dot -Tsvg tree.dot >tree.svg || echo "$file: tree"
	minspect -q --dot model "$file" >model.dot 2>/dev/null || continue
	dot -Tsvg model.dot >model.svg || echo "$file: model"
	echo "$file: $(grep -c '^    g[0-9]*n[0-9]* \[' model.dot) nodes, $(grep -c '<g id="node' model.svg) drawn"
done
minspect --dot tree names.blob | dot -Tsvg | grep -o '>quote.*<'
