// SPDX-License-Identifier: Apache-2.0
// program.cc - a classifier, a generator that is stopped, saved and resumed, a server of four sessions, by mpk/run.hpp
//
//     program classify MODEL
//     program generate MODEL FILE begin|go-on
//     program serve MODEL
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "mpk/run.hpp"

static int classify(const char *path)
{
	const mpk::Function f = mpk::Model(path).find();
	std::vector<float> data(2 * 20), extra(2 * 12);

	for (int step = 0; step < 3; step++) {
		data[0] = static_cast<float>(step);
		const auto scores = f({ mpk::tensor(data.data(), { 2, 20 }), mpk::tensor(extra.data(), { 2, 12 }) });
		const auto row = scores[0].as<float>();

		std::printf("class %d\n", static_cast<int>(std::max_element(row.begin(), row.begin() + 12) - row.begin()));
	}
	return 0;
}

// One sequence, number 0, in a cache of its own, with functions of sessions of its own: texts of several threads wait for none
// of another.
class Text {
public:
	explicit Text(const mpk::Model &m)
		: model_(m), embed_(find("embed")), prefill_(find("prefill")), decode_(find("decode")),
		  begin_(find("vm.builtin.kv_state_begin_forward")), end_(find("vm.builtin.kv_state_end_forward")),
		  pop_(find("vm.builtin.kv_state_popn")), zero_(m.number(0)), first_(m.shape({ 0 }))
	{
		const mpk::Value sequences = m.shape({ 1 }), tokens = m.shape({ 64 }), pass = m.shape({ 32 }),
				 page = m.shape({ 16 });

		cache_ = m.find("create_paged_kv_cache").call({ sequences, tokens, pass, page, first_ });
	}
	void add() { find("vm.builtin.kv_state_add_sequence").call({ cache_, zero_ }); }
	void stop() { decode_.stop(); }
	mpk::Tensor save() const { return cache_.save(); }
	void load(const void *bytes, std::size_t len) { cache_.load(bytes, len); }

	// The likeliest token after some. Of a call that was stopped the cache has nothing afterwards.
	std::int32_t feed(const std::vector<std::int32_t> &tokens)
	{
		const auto count = static_cast<std::int64_t>(tokens.size());
		const mpk::Value length = model_.shape({ count });
		mpk::Value both;

		begin_.call({ cache_, first_, length });
		try {
			const auto hidden = embed_({ mpk::tensor(tokens.data(), { count }) });
			const float *x = hidden[0].as<float>().data();

			both = (count > 1 ? prefill_ : decode_)
				       .call({ mpk::tensor(x, { 1, count, hidden[0].shape()[1] }), cache_ });
		} catch (const mpk::Error &) {
			end_.call({ cache_ });
			pop_.call({ cache_, zero_, model_.number(count) });
			throw;
		}
		end_.call({ cache_ });

		const mpk::Tensor logits = both[0].tensor();
		const auto scores = logits.as<float>();

		return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
	}

private:
	mpk::Function find(const char *name) const { return model_.find(name).session(); }
	const mpk::Model &model_;
	mpk::Function embed_, prefill_, decode_, begin_, end_, pop_;
	mpk::Value zero_, first_, cache_;
};

static int generate(const char *path, const char *file, bool is_new)
{
	const mpk::Model model(path);
	Text text(model);
	std::int32_t token;
	bool stopped = false;

	if (is_new) {
		text.add();
		token = text.feed({ 3, 1, 4, 1, 5 });
	} else {
		std::ifstream in(file, std::ios::binary);
		const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});

		std::memcpy(&token, bytes.data(), sizeof token);
		text.load(bytes.data() + sizeof token, bytes.size() - sizeof token);
	}
	for (int i = 0; i < 6 && !stopped; i++)
		try {
			if (is_new && i == 4) // somebody does not want to wait any longer
				std::thread([&] { text.stop(); }).join();
			const std::int32_t next = text.feed({ token });

			std::printf("%d ", static_cast<int>(token));
			token = next;
		} catch (const mpk::Error &e) {
			if (e.code() != MPKR_E_STOPPED)
				throw;
			stopped = true;
		}
	std::printf("%s\n", stopped ? "stopped" : "");

	const mpk::Tensor saved = text.save();
	std::ofstream out(file, std::ios::binary);

	out.write(reinterpret_cast<const char *>(&token), sizeof token); // what is left to feed goes before the cache
	out.write(static_cast<const char *>(saved.get().data), static_cast<std::streamsize>(saved.size()));
	return out.flush() ? 0 : 1;
}

static int serve(const char *path)
{
	const mpk::Model model(path);
	std::vector<std::int32_t> said[4];
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			Text text(model);

			text.add();
			std::int32_t token = text.feed({ 3 + i, 1, 4, 1, 5 });

			for (int k = 0; k < 8; k++) {
				said[i].push_back(token);
				token = text.feed({ token });
			}
		});
	for (int i = 0; i < 4; i++) {
		threads[static_cast<std::size_t>(i)].join();
		for (std::size_t k = 0; k < said[i].size(); k++)
			std::printf("%d%s", static_cast<int>(said[i][k]), k < 7 ? " " : "\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	const std::string what = argc > 2 ? argv[1] : "";

	try {
		if (what == "classify" && argc == 3)
			return classify(argv[2]);
		if (what == "generate" && argc == 5)
			return generate(argv[2], argv[3], std::strcmp(argv[4], "begin") == 0);
		if (what == "serve" && argc == 3)
			return serve(argv[2]);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	return 2;
}
