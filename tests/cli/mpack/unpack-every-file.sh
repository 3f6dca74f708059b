# Every blob and library at hand comes back byte for byte.
set -- data/formats/*.blob data/formats/*.so data/relax/*.so data/cuda/*.so data/cuda/*/*.so
for f; do
	case $f in *noblob*) continue ;; esac
	rm -rf dir
	mpack unpack "$f" -o dir
	mpack build dir/mpack.toml -o again.blob 2>warnings
	case $f in
	*.blob) cmp again.blob "$f" ;;
	*) mpack build dir/mpack.toml -o again.so 2>warnings && cmp again.so "$f" ;;
	esac
done
