# one name for what an image is for, whatever prints it and whatever takes it; targets by their numbers; devices that cannot be
f=data/device/tiny.lto.fatbin
minspect $f | grep sm_100f
minspect --functions $f | grep -o '[a-z]* sm_100f:' | sort -u
minspect --size --csv --functions $f >/dev/null 2>&1 || true
minspect --code-digest -v $f | grep -o 'sm_100f' | sort -u
minspect --extract parts $f >/dev/null
(cd parts/gpu && echo *sm_100f*)
minspect --show '#sm_100f' $f | cmp - parts/gpu/*-sm_100f.cubin && echo 'the same image'
# AMD's processors by the number in the header: of the current LLVM, and one that is none of its
python3 - <<'P'
d = bytearray(open("data/gpu/mix.gfx90a.hsaco", "rb").read())
for number in (0x49, 0x5a, 0x57, 0x5b, 0x63, 0x77):
    d[48] = number
    open("%02x.hsaco" % number, "wb").write(d)
P
for n in 49 5a 57 5b 63 77; do
	minspect $n.hsaco | grep 'GPU code  '
	minspect --verify $n.hsaco
done
for device in gfx1250 gfx1251 gfx1201; do
	minspect --check --only device --device-arch $device 5b.hsaco >/dev/null && echo "5b.hsaco runs on $device" || echo "$device: $?"
done
for device in sm_91 sm_777 sm_999 gfx945 gfx12500 sm_107 sm_103f sm_130; do
	minspect --check --only device --device-arch $device data/device/two.ptx >/dev/null || echo "$device: $?"
done
