# options of CUDA source stand in its first line: packed, shown, taken apart and packed again
cat >k.cu <<'END'
extern "C" __global__ void fill(float *p, int n) { if (threadIdx.x < n) p[threadIdx.x] = N; }
END
manifest() # OPTIONS FILE
{
	cat <<END
[package]
name = "fill"
[[module]]
id = "k"
kind = "cuda"
data = "$2"
nvrtc_options = $1
[[module.function]]
name = "fill"
args = ["handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
END
}
manifest '["--use_fast_math", "-DN=4"]' k.cu >mpack.toml
mpack build -o k.blob
minspect --verify k.blob
minspect --functions k.blob
mpack unpack k.blob -o apart
head -n 1 apart/0-cuda/kernels.cu
mpack build apart/mpack.toml -o again.blob
cmp k.blob again.blob
tail -n +2 apart/0-cuda/kernels.cu | cmp - k.cu

echo '-- refused'
manifest '["use_fast_math", "-I /opt", ""]' k.cu >mpack.toml
mpack check || echo $?
cp apart/0-cuda/kernels.cu own.cu
manifest '["-DN=4"]' own.cu >mpack.toml
mpack check || echo $?
manifest '["-DN=4"]' k.cu | sed 's/kind = "cuda"/kind = "hip"/' >mpack.toml
mpack check || echo $?
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry fill(.param .u64 p, .param .u32 n) { ret; }\n' >k.ptx
manifest '["-DN=4"]' k.ptx >mpack.toml
mpack check || echo $?
printf '[package]\nname = "x"\n[[module]]\nid = "h"\nkind = "host"\nsources = []\nnvrtc_options = ["-g"]\n' >mpack.toml
mpack check || echo $?
