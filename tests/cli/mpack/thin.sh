# a library keeps the architectures that are named; everything else of it is where it was, and still points there
for file in cuda hip hip-packed; do
	case $file in cuda) keep=sm_90,compute_90 ;; *) keep=gfx1100 ;; esac
	mpack thin -v data/gpu/$file.so -o $file.so --keep $keep
	minspect $file.so
	minspect --verify $file.so
	python3 "$ROOT/tests/cli/thinned" data/gpu/$file.so $file.so
	minspect -q --extract before data/gpu/$file.so
	minspect -q --extract after $file.so
	(cd after/gpu && find . -type f) | sort | while read -r name; do
		# the number of an image in its container, and a name with it, may be another
		digest=$(sha256sum <"after/gpu/$name")
		(cd before/gpu && sha256sum ./*) | grep -q "${digest%% *}" || echo "$name is another"
	done
	rm -r before after
done
# all of it is the same file
mpack thin data/gpu/cuda.so -o all.so --keep sm_80,sm_90 --keep compute_90
cmp all.so data/gpu/cuda.so
