# whether a kernel stops its threads at the end decides how many there are
cat >k.cl <<'END'
__kernel void guarded(__global float *x, int rows, int cols) { if (get_global_id(0) < (rows * cols)) x[get_global_id(0)] = 1; }
__kernel void returns(__global float *x, uint num_elements, int k) { if (get_global_id(0) >= num_elements) return; x[get_global_id(0)] = k; }
__kernel void reversed(__global float *x, int n) { if (n <= get_global_id(0)) return; x[get_global_id(0)] = n; }
__kernel void factor(__global float *x, int k) { x[get_global_id(0)] *= k; int j = k; }
__kernel void n_is_no_bound(__global float *x, int n) { x[get_global_id(0)] *= n; }
__kernel void other_word(__global float *x, int n) { if (get_global_id(0) < n2) x[0] = n; }
END
mpack init k.cl | grep -E '^(# decide|name|params|grid|block)' | sed '/^name    = "k"/d'
