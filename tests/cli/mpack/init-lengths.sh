# an integer that the index is compared with is the length of the buffers that have an element at each index; all else is asked
cat >k.cl <<'END'
__kernel void clampi(__global int *data, int lo, int hi, ulong n) { size_t i = get_global_id(0); if (i < n) data[i] = clamp(data[i], lo, hi); }
__kernel void rows(__global const float *x, __global float *out, int rows, int cols)
{
	int r = get_global_id(0);
	if (r >= rows) return;
	for (int j = 0; j < cols; j++) out[r] += x[r * cols + j];
}
__kernel void strides(__global const float *x, __global float *out, int n, int k)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = x[i] * k;
}
__kernel void formula(__global float *x, int n, int k) { int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0)); if ((i < n)) x[i] = k; }
/* not these: n is one more, n is not the length, the index is another thing, it or n changes, the address is taken */
__kernel void through(__global float *x, int n, int k) { int i = get_global_id(0); if (i <= n) x[i] = k; }
__kernel void fewer(__global float *x, int n, int k) { int i = get_global_id(0); if (i < n - 1) x[i] = k; }
__kernel void twice(__global float *x, int n, int k) { int i = get_global_id(0) * 2; if (i < n) x[i] = k; }
__kernel void moved(__global float *x, int n, int k) { int i = get_global_id(0); i = i * k; if (i < n) x[i] = k; }
__kernel void grown(__global float *x, int n, int k) { int i = get_global_id(0); n *= 4; if (i < n) x[i] = k; }
__kernel void taken(__global float *x, int n, int k) { int i = get_global_id(0); if (i < n) f(&x[i], k); }
__kernel void inner(__global float *x, int n, int k) { int i = get_global_id(0); for (int j = 0; j < n; j++) x[i] += k; }
/* two dimensions, in either order */
__kernel void blur(__global const float *in, __global float *out, int width, int height)
{
	int y = get_global_id(1), x = get_global_id(0);
	if (x >= width || y >= height) return;
	out[y * width + x] = in[y * width + x];
}
/* arrays that a larger block would run out of */
__kernel void local64(__global float *x, int n) { __local float s[64]; int i = get_global_id(0); if (i < n) s[get_local_id(0)] = x[i]; }
__kernel void localN(__global float *x, int n) { __local float s[N]; int i = get_global_id(0); if (i < n) s[get_local_id(0)] = x[i]; }
END
mpack init k.cl >mpack.toml
sed -n '/^# decide/,$p' mpack.toml | grep -v '^kernel\|^\[\[function'
mpack check
