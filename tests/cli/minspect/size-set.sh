# Sizes of more files than people read tables of: what they come to, by device, and a line for each.
mkdir set
cp data/gpu/cuda.so data/gpu/hip-packed.so data/device/sums.sm_90.cubin data/formats/01_opencl_scale.so set
minspect size set
minspect size --all set | grep -c '^sections'
python3 -m zipfile -c set.whl set/cuda.so set/hip-packed.so set/01_opencl_scale.so set/sums.sm_90.cubin
minspect size set.whl
minspect set.whl
# few are shown in full
minspect size data/device/sums.sm_90.cubin data/device/tiny.sm_100.cubin
# very many libraries of an archive: the largest
mkdir many
for i in $(seq 50); do cp data/device/tiny.sm_100.cubin many/$i.cubin; done
head -c 200 /dev/zero >>many/7.cubin
python3 -m zipfile -c many.zip many
minspect many.zip | sed -n '1,3p;$p'
echo "$(minspect many.zip | wc -l) lines, all: $(minspect --all many.zip | wc -l)"
minspect size many.zip | sed -n '1p;$p'
