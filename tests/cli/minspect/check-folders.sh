# one library for two releases of CUDA, each in a folder of its own, as wheels of Triton have CUPTI: that which runs decides
mkdir -p wheel/cupti wheel/cupti-new wheel/other
mpack build data/device/two.sm_52.cuda12.cubin -o wheel/cupti/pine.fatbin
mpack build data/device/two.sm_75.cubin -o wheel/cupti-new/pine.fatbin
python3 - <<'END'
import glob, zipfile
for name, files in ("both", ("cupti", "cupti-new")), ("one", ("cupti", "other")):
    with zipfile.ZipFile(name + "-1-py3-none-any.whl", "w") as z:
        for f in files:
            z.write("wheel/" + ("cupti" if f == "cupti" else "cupti-new") + "/pine.fatbin", f + "/pine.fatbin")
        z.writestr(name + "-1.dist-info/WHEEL", "")
END
for place in "--driver 12.9" "--device-arch sm_75" "--device-arch sm_52" "--device-arch sm_90"; do
	minspect check --only device,driver $place both-1-py3-none-any.whl || echo "status $?"
done
# folders that are not alike hold different libraries
minspect check --only device,driver --driver 12.9 one-1-py3-none-any.whl || echo "status $?"
# a wheel without libraries, and one whose libraries have no code for GPUs, end alike
python3 -c 'import zipfile; zipfile.ZipFile("none-1-py3-none-any.whl", "w").writestr("none-1.dist-info/WHEEL", "")'
minspect check --device-arch sm_90 none-1-py3-none-any.whl 2>&1 || echo "status $?"
# the interpreter is there for what needs an extension of it
cat >ext.c <<'END'
extern void *PyLong_FromLong(long);
void *PyInit_ext(void) { return PyLong_FromLong(1); }
int shared(void) { return 1; }
END
echo 'int shared(void); void *PyLong_FromLong(long); void *plugin(void) { return PyLong_FromLong(shared()); }' >plugin.c
cc -shared -fPIC -o libext.so ext.c
cc -shared -fPIC -o plugin.so plugin.c -L. -lext -Wl,-rpath,'$ORIGIN'
cc -shared -fPIC -o alone.so plugin.c
minspect check plugin.so
minspect check alone.so | sed 's/; .*//' || :
# what is found of the releases that a better one replaces is no reason; what is found of others is
mkdir -p releases
cat >pick.s <<'END_S'
.globl work
work: ret
.section .nv_fatbin,"a"
.align 8
.incbin "wheel/cupti/pine.fatbin"
.section .note.GNU-stack,"",@progbits
END_S
echo 'int cudaMalloc(void) { return 0; }' >runtime.c
for n in 11 12 13; do
	cc -shared -nostdlib -Wl,-soname,libcudart.so.$n -o libcudart.so.$n runtime.c
	cc -shared -nostdlib -Wl,--no-as-needed -o releases/libwork_cuda${n}8.so pick.s ./libcudart.so.$n
done
for n in 1 2 3 4 5; do
	echo "int other$n(void) { return $n; }" | cc -shared -nostdlib -Wl,--no-as-needed -o "releases/other.$(echo "$n" | tr 1-5 a-e).so" -x c - -x none ./libcudart.so.13
done
minspect check --only device,driver --device-arch sm_52 --driver 13.0 releases
minspect check --only device,driver --device-arch sm_52 --driver 12.9 releases || echo "status $?"
rm releases/other.*
minspect check --only device,driver --device-arch sm_52 --driver 12.9 releases || echo "status $?"
