# what no runtime passes by value is found by init, build, check and --verify alike, through typedefs, records and
# macros; what the text does not tell is said, and what fits is taken
mkpackage() # KIND FILE KERNEL ARGS
{
	printf '[package]\nname = "x"\n[[module]]\nid = "m"\nkind = "%s"\ndata = "%s"\n' "$1" "$2" >mpack.toml
	printf '  [[module.function]]\n  name = "%s"\n  args = [%s]\n  launch = ["blockIdx.x"]\n' "$3" "$4" >>mpack.toml
}
try()
{
	mkpackage "$@"
	echo "$1 $3: check $(mpack check >/dev/null 2>said || echo $?) build $(mpack build -q -o x.blob 2>/dev/null || echo $?)"
	sed 's/^[^ ]* [^ ]* //; s/ \[kernel-parameters\]$//' said
}
cat >cl.cl <<'EOF'
typedef float4 vec;
typedef vec other;
typedef struct { float a; int n[2]; } pair;
struct tagged { int x; };
union either { int a; float b[4]; };
enum which { ONE, TWO };
typedef enum { THREE } that;
typedef __global float *address;
#define REAL float
#define PAIR(t) t
__kernel void vectors(float4 a, vec b, other c, const pair d, struct tagged e, union either f, sampler_t g) { }
__kernel void fits(address a, REAL b, enum which c, that d, read_only image2d_t e, float f, __constant pair *g) { }
__kernel void open_(PAIR(float4) a, somewhere b) { }
__kernel void local_(__local float *a, __global float *b) { }
EOF
h='"handle"'
try opencl cl.cl vectors "$h, $h, $h, $h, $h, $h, $h"
try opencl cl.cl fits "$h, \"float32\", \"int32\", \"int32\", $h, \"float32\", $h"
try opencl cl.cl open_ "$h, $h"
try opencl cl.cl local_ "$h, $h"
cat >cu.cu <<'EOF'
using V = float4;
struct P { float x[4]; };
struct Address { float *p; };
struct Both { int n; float *p; };
struct Half { half2 a; };
enum class E : unsigned char { A };
template <typename T> struct Box { T v; };
namespace ns { struct In { double d, e; }; }
extern "C" __global__ void values(V a, struct P b, Both c, half2 d, uint3 e, dim3 f, const Half g, ns::In h, E i,
	__grid_constant__ const P j) { }
extern "C" __global__ void fits(Address a, size_t b, unsigned long long c, float d[4], const float *__restrict__ e,
	float (&f)[4], int n, E i) { }
extern "C" __global__ void open_(Box<float> a, Unknown b) { }
EOF
try cuda cu.cu values "$h, $h, $h, $h, $h, $h, $h, $h, $h, $h"
try cuda cu.cu fits "$h, $h, \"int64\", $h, $h, $h, \"int64\", \"int32\""
try cuda cu.cu open_ "$h, $h"
cat >metal.metal <<'EOF'
#include <metal_stdlib>
using namespace metal;
struct args { int n; };
kernel void fits(device float *a [[buffer(0)]], constant args &b [[buffer(1)]], uint c [[thread_position_in_grid]]) { }
kernel void values(device float *a [[buffer(0)]], float4 b [[buffer(1)]], texture2d<float> c [[texture(0)]]) { }
EOF
try metal metal.metal fits "$h, \"int32\""
try metal metal.metal values "$h, $h"
cat >wgsl.wgsl <<'EOF'
@group(0) @binding(0) var<storage, read_write> x : array<f32>;
/* comments /* nest */ @compute fn not_this() { } */
@compute @workgroup_size(64) fn fits(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 0; }
@compute @workgroup_size(64) fn values(v: vec4<f32>) { }
EOF
try webgpu wgsl.wgsl fits "$h"
try webgpu wgsl.wgsl values "$h"
cat >ptx.ptx <<'EOF'
.version 7.0
.target sm_70
.address_size 64
.visible .entry value(.param .align 16 .b8 p[16]) { ret; }
.visible .entry _Z6vector6float2(.param .align 8 .b8 p[8]) { ret; }
.visible .entry fits(.param .align 8 .b8 p[8]) { ret; }
EOF
for kernel in value _Z6vector6float2 fits; do try cuda ptx.ptx $kernel "$h"; done
# a blob that was made elsewhere
mkpackage opencl cl.cl fits "\"float32\", \"float32\", \"float32\", \"float32\", \"float32\", \"float32\", \"float32\""
sed -i 's/__kernel void fits(.*/__kernel void fits(float a, float b, float c, float d, float e, float f, float g) { }/' cl.cl
mpack build -q -o x.blob
sed 's/fits(float a, float b/fits(pair a,float2 b /' x.blob >y.blob
minspect --verify y.blob || echo "status $?"
for f in cl.cl cu.cu metal.metal wgsl.wgsl; do mpack init $f 2>&1 | grep 'no runtime\|not to be seen'; done
