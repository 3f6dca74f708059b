/* Arguments of every sort, LDS, and kernels that no table can name. */
__attribute__((reqd_work_group_size(8, 4, 1))) kernel void all(global float *x, global const ushort *h, int n, ulong big, float f)
{ local float t[64]; int i = __builtin_amdgcn_workitem_id_x(); t[i] = x[n]; __builtin_amdgcn_s_barrier(); x[n + i] = t[n & 63] + h[big] * f; }
kernel void local_memory(global int4 *x, local float *tile, uint n) { tile[n] = x[n].x; x[n + 1].y = tile[n / 2]; }
kernel void vector(global float *x, float4 v, long n) { x[n] = v.x; }
