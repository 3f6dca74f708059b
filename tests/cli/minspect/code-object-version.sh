# A code object of a version that no release of ROCm loads, by itself and in a bundle of a library
cp data/gpu/mix.gfx90a.hsaco new.hsaco
printf '\011' | dd of=new.hsaco bs=1 seek=8 conv=notrunc 2>/dev/null
python3 - <<'END'
data = bytearray(open("data/gpu/hip.so", "rb").read())
at = 0
while (at := data.find(b"\177ELF\2\1\1\100", at + 1)) > 0:
    data[at + 8] = 5
open("new.so", "wb").write(data)
END
for file in new.hsaco new.so; do
	minspect verify "$file"
	for device in gfx90a:xnack+ gfx906; do
		minspect check --only device --device-arch $device "$file" || echo "status $?"
	done
done
minspect check --only device --device-arch gfx90a data/gpu/mix.gfx90a.hsaco
