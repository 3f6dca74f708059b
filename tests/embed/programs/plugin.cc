// SPDX-License-Identifier: Apache-2.0
// plugin.cc - plugin.c by mpk/run.hpp
#include <algorithm>

#include "mpk/run.hpp"

extern "C" __attribute__((visibility("default"))) int plugin_classify(const char *path, float step)
{
	try {
		const std::vector<float> extra(24);
		std::vector<float> data(40);

		data[0] = step;
		const auto y = mpk::Model(path).find()({ mpk::tensor(data.data(), { 2, 20 }), mpk::tensor(extra.data(), { 2, 12 }) });
		const auto scores = y[0].as<float>();

		return static_cast<int>(std::max_element(scores.begin(), scores.begin() + 12) - scores.begin());
	} catch (const std::exception &) {
		return -1;
	}
}
