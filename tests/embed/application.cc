// SPDX-License-Identifier: Apache-2.0
// application.cc - a model that calls a function of this program, by mpk/run.hpp: application LIBRARY
//
// The library is registered.so of the tests: identity(x) is the negative of what test.vm.identity(x, out) wrote to out,
// add(x, y) what test.vm.add(x, y) gave.
#include <cstdio>
#include <thread>

#include "mpk/run.hpp"

static int run(const char *path)
{
	mpk::Model model(path);
	const float x[] = { 1, 2, 3, 4 };
	int calls = 0;
	auto identity = model.on("test.vm.identity", [&](const mpk::Call &call) {
		const mpk::Tensor from = call.tensor(0), to = call.tensor(1);

		if (++calls > 2)
			throw std::out_of_range("ValueError: called too often");
		for (std::size_t i = 0; i < from.size(); i++)
			to.as<float>()[i] = 10 * from.as<float>()[i];
		return mpk::Value();
	});
	auto add = model.on("test.vm.add", [](const mpk::Call &call) { return call.hold(1); });
	const mpk::Function f = model.find("identity"), g = model.find("add");

	for (int i = 0; i < 2; i++) {
		const std::vector<mpk::Tensor> y = f({ mpk::tensor(x, { 1, 4 }) });

		std::printf("%g of shape %d\n", static_cast<double>(y.at(0).as<float>()[3]),
			    static_cast<int>(y.at(0).shape().at(1)));
	}
	std::thread([&] { f.stop(); }).join();
	try {
		f({ mpk::tensor(x, { 1, 4 }) });
	} catch (const mpk::Error &e) {
		std::printf("%d: %s\n", e.code(), e.what());
	}
	f.resume();
	try {
		f({ mpk::tensor(x, { 1, 4 }) });
	} catch (const mpk::Error &e) {
		std::printf("%d: %s\n", e.code(), e.what());
	}
	for (const mpk::Tensor &sum : g({ mpk::tensor(x, { 4 }), mpk::tensor(x, { 4 }) }))
		std::printf("%g\n", static_cast<double>(sum.as<float>()[1]));
	return 0;
}

int main(int argc, char **argv)
{
	try {
		return argc == 2 ? run(argv[1]) : 2;
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
		return 1;
	}
}
