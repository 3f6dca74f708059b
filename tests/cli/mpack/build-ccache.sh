# a compiler behind ccache: what has not changed is not compiled again, from wherever it is built, and the bytes are the same
command -v ccache >/dev/null || { echo "ccache is not installed"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
export CCACHE_DIR="$PWD/cache"
count()
{
	ccache --print-stats | awk '$1 == "cache_miss" { miss = $2 } $1 ~ /^(direct|preprocessed)_cache_hit$/ { hit += $2 }
		END { print hit + 0 " found, " miss + 0 " compiled" }'
}
cp -r data/example first
mpack build first/mpack.toml -o plain.so
mpack build first/mpack.toml -o one.so --cc 'ccache cc'
count
mpack build first/mpack.toml -o two.so --cc 'ccache cc'
count
cmp one.so plain.so
cmp two.so plain.so
echo 'int another(void) { return 1; }' >>first/host.c
mpack build first/mpack.toml -o three.so --cc 'ccache cc'
count
