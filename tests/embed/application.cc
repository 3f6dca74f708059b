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
	std::printf("failed at %s\n", f.failed_at().c_str());
	for (const mpk::Tensor &sum : g({ mpk::tensor(x, { 4 }), mpk::tensor(x, { 4 }) }))
		std::printf("%g\n", static_cast<double>(sum.as<float>()[1]));
	return 0;
}

/* Watched and measured, within a budget; a function is an argument. */
static int look(const char *path)
{
	const std::vector<float> x = { 1, 2, 3, 4 };
	std::uint64_t loaded = 0;
	mpk::Options options;
	int begun = 0, ended = 0;

	options.budget = 1 << 20;
	options.loaded = [&](std::uint64_t bytes) { loaded += bytes; };
	options.log = [](std::string_view text) { std::printf("log: %s\n", std::string(text).c_str()); };
	mpk::Model model(path, options);
	auto add = model.on("test.vm.add", [](const mpk::Call &call) { return call.hold(0); });
	const mpk::Function f = model.find("add");
	const auto call = [&] { return f({ mpk::tensor(x.data(), { 4 }), mpk::tensor(x.data(), { 4 }) }); };

	model.profile_begin();
	{
		auto watch = model.watch([&](const mpkr_event &e) {
			(e.is_end ? ended : begun)++;
			return MPKR_WATCH_GO_ON;
		});
		call();
	}
	call();
	for (const mpkr_profile_row &row : model.profile_end())
		if (row.kind == MPKR_OPERATOR_KERNEL)
			std::printf("%s: %d calls\n", row.name, static_cast<int>(row.calls));
	std::printf("%s, %s\n", begun && begun == ended ? "watched" : "not watched",
		    model.memory_now().most_bytes ? "counted" : "not counted");
	{
		auto watch = model.watch([](const mpkr_event &) -> int { throw 1; });

		try {
			call();
		} catch (const mpk::Error &e) {
			std::printf("%d\n", e.code());
		}
	}

	const mpk::Value closure = model.function([](const mpk::Call &c) { return c.hold(0); }, "same");
	const mpk::Function invoke = model.find("vm.builtin.invoke_closure");
	const mpk::Value seven = model.number(7), two = model.number(2);

	std::printf("%d\n", static_cast<int>(invoke({ closure, seven }).at(0).as<std::int64_t>()[0]));
	const mpk::Value again = f.value();
	const mpk::View view = mpk::tensor(x.data(), { 4 });

	std::printf("%g\n", static_cast<double>(invoke({ again, view, view }).at(0).as<float>()[3]));
	return 0;
}

int main(int argc, char **argv)
{
	try {
		return argc == 2 ? run(argv[1]) || look(argv[1]) : 2;
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
		return 1;
	}
}
