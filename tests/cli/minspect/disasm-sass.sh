# Cubins go to nvdisasm, wherever it is; without it, the message says where it comes from.
cubin=data/cuda/cubin/vadd_cuda.so
PATH=$(dirname "$(command -v minspect)"):/usr/bin:/bin
command -v nvdisasm >/dev/null || minspect --disasm vadd_kernel $cubin || echo "status $?"

# a stand-in, which prints as nvdisasm does and tells what it may do
mkdir -p cuda/bin
cat >cuda/bin/nvdisasm <<'END'
#!/bin/sh
case $(head -c 4 "$2" | od -An -c | tr -d ' ') in 177ELF) ;; *) echo "no ELF file" >&2; exit 1 ;; esac
[ "$(wc -c <"$2")" -eq 3840 ] || { echo "nvdisasm fatal   : not this $(printf '\033')[31mone" >&2; exit 1; }
echo x 2>/dev/null >written && echo "//wrote a file"
[ -r /etc/passwd ] && head -n 1 /etc/passwd >/dev/null 2>&1 && echo "//read a file"
printf '\t.target\tsm_90\n//--------------------- .text.other_kernel --------------------------\nother\n'
printf '//--------------------- .text.vadd_kernel         --------------------------\n'
printf '        /*0000*/ MOV R1, c[0x0][0x28] ; \033[31m\n'
printf '//--------------------- .text.vadd_kernel_2 --------------------------\nsecond\n'
END
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
minspect --disasm vadd_kernel data/cuda/fatbin/vadd_cuda.so >out
sed '/PTX\|ptx/,$d' out
grep -c ptx out
minspect --disasm=cubin:kernels data/embedded/embedded.so || echo "status $?"
minspect --disasm='cubin:kernels#scale' data/embedded/embedded.so || echo "status $?"
ls written 2>/dev/null || true
# one that does not come back, one that crashes, one that cannot be started
printf '#!/bin/sh\nkill -SEGV $$\n' >cuda/bin/nvdisasm
minspect --disasm vadd_kernel data/cuda/fatbin/vadd_cuda.so >out || echo "status $?"
grep -c entry out
printf '#!/nowhere\n' >cuda/bin/nvdisasm
minspect --disasm vadd_kernel $cubin || echo "status $?"
