/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - a shared library with libmpk-run in it (libmpkrun-pic.a), for host.c: the class of a step, -1 on failure */
#include <mpk/run.h>

__attribute__((visibility("default"))) int plugin_classify(const char *path, float step)
{
	float data[2][20] = { { step } }, extra[2][12] = { { 0 } };
	const int64_t data_shape[] = { 2, 20 }, extra_shape[] = { 2, 12 };
	const struct mpkr_tensor d = mpkr_tensor_on_host(data, MPKR_DTYPE_FLOAT, 32, 2, data_shape),
				 e = mpkr_tensor_on_host(extra, MPKR_DTYPE_FLOAT, 32, 2,
							 extra_shape);
	const struct mpkr_tensor *in[] = { &d, &e };
	struct mpkr_result *results[2] = { NULL, NULL };
	mpkr_model *model = NULL;
	mpkr_function *f = NULL;
	size_t count;
	int best = -1;

	if (!mpkr_open(path, NULL, &model, NULL) && !mpkr_find(model, NULL, &f, NULL) &&
	    !mpkr_call(f, in, 2, results, 2, &count, NULL)) {
		const float *scores = results[0]->tensor.data;

		best = 0;
		for (int i = 1; i < 12; i++)
			if (scores[i] > scores[best])
				best = i;
	}
	mpkr_free(results[0]);
	mpkr_free(results[1]);
	mpkr_drop(f);
	mpkr_close(model);
	return best;
}
