extern "C" __global__ void tiny(int *out) { out[threadIdx.x] = 1; }
