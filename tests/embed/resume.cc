// SPDX-License-Identifier: Apache-2.0
// resume.cc - a language model whose cache goes from one process to another: resume MODEL FILE begin|go-on
//
// The tokens are those of the program in mpk-run(3), in two halves.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mpk/run.hpp"

static const char kv[] = "vm.builtin.kv_state_";

// The likeliest token after some.
static std::int32_t next(const mpk::Model &model, const char *function, const mpk::Value &cache,
			 const std::vector<std::int32_t> &tokens)
{
	const auto count = static_cast<std::int64_t>(tokens.size());

	model.find(std::string(kv) + "begin_forward")
		.call({ cache, model.shape({ 0 }), model.shape({ count }) });
	const std::vector<mpk::Tensor> h =
		model.find("embed")({ mpk::tensor(tokens.data(), { count }) });
	const mpk::Value both = model.find(function).call(
		{ mpk::tensor(h[0].as<float>().data(), { 1, count, h[0].shape()[1] }), cache });
	const mpk::Tensor logits = both[0].tensor();
	std::int32_t best = 0;

	model.find(std::string(kv) + "end_forward").call({ cache });
	for (std::int32_t i = 1; i < logits.shape()[2]; i++)
		if (logits.as<float>()[static_cast<std::size_t>(i)] >
		    logits.as<float>()[static_cast<std::size_t>(best)])
			best = i;
	return best;
}

static int run(const char *path, const char *file, bool begins)
{
	const mpk::Model model(path);
	const mpk::Function create = model.find("create_paged_kv_cache");
	mpk::Value cache =
		create.call({ model.shape({ 1 }), model.shape({ 64 }), model.shape({ 32 }),
			      model.shape({ 16 }), model.shape({ 0 }) });
	std::int32_t token;

	if (begins) {
		model.find(std::string(kv) + "add_sequence").call({ cache, model.number(0) });
		token = next(model, "prefill", cache, { 3, 1, 4, 1, 5 });
	} else {
		std::ifstream in(file, std::ios::binary);
		std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});

		std::memcpy(&token, bytes.data(), sizeof token);
		cache.load(bytes.data() + sizeof token, bytes.size() - sizeof token);
	}
	for (int i = 0; i < 6; i++) {
		std::printf("%d ", static_cast<int>(token));
		token = next(model, "decode", cache, { token });
	}
	std::puts("");
	if (begins) {
		const mpk::Tensor saved = cache.save({ 0 });
		std::ofstream out(file, std::ios::binary);

		out.write(reinterpret_cast<const char *>(&token), sizeof token);
		out.write(reinterpret_cast<const char *>(saved.as<std::uint8_t>().data()),
			  static_cast<std::streamsize>(saved.size()));
	}
	return 0;
}

int main(int argc, char **argv)
{
	try {
		return argc == 4 ? run(argv[1], argv[2], std::strcmp(argv[3], "begin") == 0) : 2;
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
		return 1;
	}
}
