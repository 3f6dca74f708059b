__kernel void scale(__global float *p, float a) { p[get_global_id(0)] *= a; }
__kernel void shift(__global float *p) { p[0] += 1; }
float helper(float x) { return x + 1; }
