# images that fatbinary packed together (--concat), and Tile IR beside them, which drivers compile
f=data/device/tiny.concat.fatbin
minspect $f
minspect --verify $f
minspect --json $f | python3 -c '
import json, sys
for i in json.load(sys.stdin)["files"][0]["device_code"][0]["code"]["images"]:
    print(i["kind"], i["target"], i["packing"], i["bytes"], i["plain_bytes"], i["code"]["format"])'
for arch in sm_75 sm_86 sm_90 sm_120; do minspect check --device-arch $arch $f || :; done
minspect check --device-arch sm_120 --driver 13.0 $f || :
minspect check --device-arch sm_120 --driver 13.1 $f
# by itself, too
minspect check --device-arch sm_75 data/device/vadd.134.tileirbc || :
minspect check --device-arch sm_90 --driver 13.3 data/device/vadd.134.tileirbc || :
# thinned: one that is left is packed by itself, both stay as they are
mpack thin $f --keep sm_90 -o one.fatbin
mpack thin $f --keep sm_80,sm_90 -o both.fatbin
minspect one.fatbin both.fatbin | grep ' [0-9]: '
minspect show '#sm_90' $f >a.cubin
minspect show '#sm_90' one.fatbin >b.cubin
minspect show '#sm_90' both.fatbin >c.cubin
cmp a.cubin b.cubin
cmp a.cubin c.cubin
# replaced: the other one stays
mpack edit $f --replace 'file:0#sm_90=data/device/two.sm_90.cubin' -o new.fatbin
minspect new.fatbin | grep ' [0-9]: '
minspect show '#sm_90' new.fatbin | cmp - data/device/two.sm_90.cubin
minspect show '#sm_80' new.fatbin >d.cubin
minspect show '#sm_80' $f | cmp - d.cubin
