/* Argument names and types, a fixed work group, and more live values than the registers that it may have. */
__attribute__((reqd_work_group_size(64, 1, 1))) __attribute__((amdgpu_num_vgpr(24)))
kernel void mix(global float *out, global const float *in, constant float *table, local float *tile, int4 n)
{
	float v[48];
	int i = __builtin_amdgcn_workitem_id_x();

#pragma unroll
	for (int k = 0; k < 48; k++)
		v[k] = in[i + k * n.x];
#pragma unroll
	for (int k = 0; k < 48; k++)
		tile[(i * 7 + k) & 63] += v[k] * v[(k * 31 + 7) % 48] + table[k];
#pragma unroll
	for (int k = 0; k < 48; k++)
		out[i + k * n.y] = v[k] + tile[(i + k) & 63];
}
