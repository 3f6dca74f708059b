// SPDX-License-Identifier: Apache-2.0
// raii.cc - mpk/run.h in C++: what is opened is closed, and an error is an exception
#include <mpk/run.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

struct Close { void operator()(mpkr_model *m) const { mpkr_close(m); } };
struct Drop { void operator()(mpkr_function *f) const { mpkr_drop(f); } };
struct Free { void operator()(mpkr_result *r) const { mpkr_free(r); } };
using Model = std::unique_ptr<mpkr_model, Close>;
using Function = std::unique_ptr<mpkr_function, Drop>;
using Result = std::unique_ptr<mpkr_result, Free>;

static void check(int code, const mpkr_error &err) { if (code) throw std::runtime_error(err.text); }

static Function load(const char *path, const char *name)
{
	mpkr_error err;
	mpkr_model *model;
	mpkr_function *f;
	check(mpkr_open(path, nullptr, &model, &err), err);
	Model closed_at_the_end(model); // the function keeps what it needs
	check(mpkr_find(model, name, &f, &err), err);
	return Function(f);
}

static std::vector<Result> call(const Function &f, const std::vector<mpkr_tensor> &in)
{
	std::vector<const mpkr_tensor *> pointers;
	std::vector<Result> results;
	mpkr_result *made[16];
	mpkr_error err;
	size_t count;
	for (const auto &t : in) pointers.push_back(&t);
	check(mpkr_call(f.get(), pointers.data(), in.size(), made, 16, &count, &err), err);
	for (size_t i = 0; i < count; i++) results.emplace_back(made[i]);
	return results;
}

int main(int argc, char **argv) try {
	std::vector<float> x(4 * 24, 0.5F);
	const int64_t shape[] = { 4, 24 };
	if (argc != 2) return 2;
	const auto results = call(load(argv[1], "forward"), { mpkr_tensor_on_host(x.data(), MPKR_DTYPE_FLOAT, 32, 2, shape) });
	std::printf("%zu result, %lld x %lld\n", results.size(), (long long)results[0]->tensor.shape[0],
		    (long long)results[0]->tensor.shape[1]);
	load(argv[1], "backward");
} catch (const std::exception &e) {
	std::printf("%s\n", e.what());
}
