// SPDX-License-Identifier: Apache-2.0
// mpk/run.hpp - mpk/run.h for C++17: what is given is given back, and what fails is thrown
//
//     mpk::Model model("mlp.so");
//     mpk::Function f = model.find("main");
//     std::vector<float> x(64);
//     std::vector<mpk::Tensor> y = f({mpk::tensor(x.data(), {1, 64})});
//     float first = y[0].as<float>()[0];
//
// Everything is in this header; programs link what they link for C. Each class holds one handle of the C functions,
// whose descriptions hold here too: owners are moved and not copied, and may be given back in any order. A function that
// fails throws mpk::Error. Without exceptions, call the C functions.
#ifndef MPK_RUN_HPP
#define MPK_RUN_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpk/run.h"

namespace mpk {

// What failed: a sentence, and enum mpkr_code.
class Error : public std::runtime_error {
public:
	Error(int code, const char *text) : std::runtime_error(text), code_(code) {}
	int code() const noexcept { return code_; }

private:
	int code_;
};

namespace detail {

inline void check(int code, const mpkr_error &err)
{
	if (code == MPKR_E_NO_MEMORY)
		throw std::bad_alloc();
	if (code != MPKR_OK)
		throw Error(code, err.text);
}

template <typename T> struct Element {
	using type = std::remove_cv_t<T>;
	static_assert(std::is_arithmetic_v<type>, "elements are numbers");
	static constexpr int code = std::is_same_v<type, bool>	      ? MPKR_DTYPE_BOOL
				    : std::is_floating_point_v<type> ? MPKR_DTYPE_FLOAT
				    : std::is_signed_v<type>	      ? MPKR_DTYPE_INT
								      : MPKR_DTYPE_UINT;
	static constexpr int bits = 8 * static_cast<int>(sizeof(type));
};

} // namespace detail

// A run of elements that somebody else owns; std::span of C++20 is made of it as of any range.
template <typename T> class Span {
public:
	Span() = default;
	Span(T *data, std::size_t size) : data_(data), size_(size) {}
	T *data() const noexcept { return data_; }
	std::size_t size() const noexcept { return size_; }
	bool empty() const noexcept { return size_ == 0; }
	T *begin() const noexcept { return data_; }
	T *end() const noexcept { return data_ + size_; }
	T &operator[](std::size_t i) const { return data_[i]; }

private:
	T *data_ = nullptr;
	std::size_t size_ = 0;
};

// Memory of the caller as a tensor; the elements are borrowed, the shape is kept.
class View {
public:
	View(const void *data, int dtype_code, int bits, std::vector<std::int64_t> shape)
		: shape_(std::move(shape)),
		  tensor_(mpkr_tensor_on_host(data, dtype_code, bits,
					      static_cast<std::int32_t>(shape_.size()), nullptr))
	{
	}
	// Any DLTensor, as it is: its shape must live as long.
	explicit View(const mpkr_tensor &tensor) : is_given_(true), tensor_(tensor) {}
	const mpkr_tensor *get() const noexcept
	{
		if (!is_given_)
			tensor_.shape = const_cast<std::int64_t *>(shape_.data());
		return &tensor_;
	}

private:
	bool is_given_ = false;
	std::vector<std::int64_t> shape_;
	mutable mpkr_tensor tensor_;
};

template <typename T> View tensor(const T *data, std::vector<std::int64_t> shape)
{
	return View(data, detail::Element<T>::code, detail::Element<T>::bits, std::move(shape));
}

// A result: memory of the library's until it is gone.
class Tensor {
public:
	explicit Tensor(mpkr_result *owned) : result_(owned) {}
	const mpkr_tensor &get() const noexcept { return result_->tensor; }
	std::vector<std::int64_t> shape() const
	{
		return { get().shape, get().shape + get().ndim };
	}
	std::size_t size() const noexcept
	{
		std::size_t count = 1;

		for (std::int32_t i = 0; i < get().ndim; i++)
			count *= static_cast<std::size_t>(get().shape[i]);
		return count;
	}
	// The elements, in host memory; throws where they are of another type or elsewhere.
	template <typename T> Span<T> as() const
	{
		const mpkr_tensor &t = get();

		if (t.dtype.code != detail::Element<T>::code ||
		    t.dtype.bits != detail::Element<T>::bits || t.dtype.lanes != 1)
			throw Error(MPKR_E_USAGE, "a tensor of elements of another type");
		if (t.device.device_type != MPKR_DEVICE_CPU)
			throw Error(MPKR_E_USAGE, "a tensor in memory of a device");
		return { static_cast<T *>(t.data), size() };
	}
	// To whoever takes a DLManagedTensorVersioned, and gives it back.
	mpkr_result *release() noexcept { return result_.release(); }

private:
	struct Free {
		void operator()(mpkr_result *r) const noexcept { mpkr_free(r); }
	};
	std::unique_ptr<mpkr_result, Free> result_;
};

// What one call gave and the next one takes: a cache, a tuple, a tensor on its device.
class Value {
public:
	Value() = default; // none
	explicit Value(mpkr_value *owned) : value_(owned) {}
	mpkr_value *get() const noexcept { return value_.get(); }
	mpkr_value *release() noexcept { return value_.release(); }
	mpkr_kind kind() const noexcept { return mpkr_value_kind(get()); }
	std::string type() const { return mpkr_value_type(get()); }
	std::size_t size() const noexcept { return mpkr_value_count(get()); }
	Value operator[](std::size_t i) const
	{
		mpkr_error err;
		mpkr_value *out;

		detail::check(mpkr_value_item(get(), i, &out, &err), err);
		return Value(out);
	}
	// device_type 0: where it is, if that can be reached
	Tensor tensor(std::int32_t device_type = MPKR_DEVICE_CPU) const
	{
		mpkr_error err;
		mpkr_result *out;

		detail::check(mpkr_value_tensor(get(), device_type, &out, &err), err);
		return Tensor(out);
	}

	// Sequences of a cache or a recurrent state as bytes, and back; all for no ids.
	Tensor save(const std::vector<std::int64_t> &ids = {}) const
	{
		mpkr_error err;
		mpkr_result *out;

		detail::check(mpkr_state_save(get(), ids.empty() ? nullptr : ids.data(), ids.size(),
					      &out, &err),
			      err);
		return Tensor(out);
	}
	void load(const void *bytes, std::size_t len)
	{
		mpkr_error err;

		detail::check(mpkr_state_load(get(), bytes, len, &err), err);
	}

private:
	struct Drop {
		void operator()(mpkr_value *v) const noexcept { mpkr_value_drop(v); }
	};
	std::unique_ptr<mpkr_value, Drop> value_;
};

// An input of a call: a tensor of the caller, a value, or none. Borrowed for the call.
class Arg {
public:
	Arg() = default;
	Arg(const View &v) { arg_.tensor = v.get(); }
	Arg(const Tensor &t) { arg_.tensor = &t.get(); }
	Arg(const Value &v) { arg_.value = v.get(); }
	const mpkr_arg &get() const noexcept { return arg_; }

private:
	mpkr_arg arg_ = {};
};

// What a model is opened with: the options of C, and listeners, which live as long as the model and its functions.
struct Options {
	mpkr_options c = {};
	std::uint64_t budget = 0; // of its tensors, in bytes, on the host and on its device each; 0: none
	std::function<void(std::string_view)> log; // what the model prints
	std::function<void(std::uint64_t)> loaded; // bytes of weights that were brought where they are wanted
};

class Function {
public:
	// listeners: what has to live as long as calls are made
	explicit Function(mpkr_function *owned, std::shared_ptr<const void> listeners = nullptr)
		: listeners_(std::move(listeners)), function_(owned)
	{
	}
	mpkr_function *get() const noexcept { return function_.get(); }
	// As an argument of functions that take functions.
	Value value() const
	{
		mpkr_error err;
		mpkr_value *out;

		detail::check(mpkr_value_function(get(), &out, &err), err);
		return Value(out);
	}

	// Tensors in, tensors out.
	std::vector<Tensor> operator()(std::initializer_list<Arg> in) const
	{
		return (*this)(in.begin(), in.size());
	}
	std::vector<Tensor> operator()(const Arg *in, std::size_t n) const
	{
		std::vector<Tensor> out;
		const Value all = call(in, n);

		collect(all, out);
		return out;
	}
	// Whatever it takes and gives.
	Value call(std::initializer_list<Arg> in) const { return call(in.begin(), in.size()); }
	Value call(const Arg *in, std::size_t n) const
	{
		std::vector<mpkr_arg> args;
		mpkr_error err;
		mpkr_value *out;

		args.reserve(n);
		for (std::size_t i = 0; i < n; i++)
			args.push_back(in[i].get());
		detail::check(mpkr_call_value(get(), args.data(), n, &out, &err), err);
		return Value(out);
	}
	// Another machine over the same code and weights.
	Function session() const
	{
		mpkr_error err;
		mpkr_function *out;

		detail::check(mpkr_session(get(), &out, &err), err);
		return Function(out, listeners_);
	}
	void expect(std::size_t i, mpkr_kind kind)
	{
		mpkr_error err;

		detail::check(mpkr_expect(get(), i, kind, &err), err);
	}
	std::vector<mpkr_type> inputs() const { return types(mpkr_input); }
	std::vector<mpkr_type> outputs() const { return types(mpkr_output); }

	// From any thread; see mpkr_stop.
	void stop() const noexcept { mpkr_stop(get()); }
	void stop_after(std::int64_t nanoseconds) const noexcept
	{
		mpkr_stop_after(get(), nanoseconds);
	}
	void resume() const noexcept { mpkr_resume(get()); }

	// "'my.op', instruction 3 of 'main', after 'fused_add'": where the last call failed; "" where nobody knows.
	std::string failed_at() const
	{
		mpkr_failure at = {};
		std::string text;

		at.size = sizeof at;
		if (mpkr_failed_at(get(), &at) != MPKR_OK)
			return text;
		text = "'" + std::string(at.name) + "'";
		if (at.instruction >= 0)
			text += ", instruction " + std::to_string(at.instruction);
		if (at.function[0])
			text += (at.instruction >= 0 ? " of '" : " in '") +
				std::string(at.function) + "'";
		if (at.before[0])
			text += ", after '" + std::string(at.before) + "'";
		return text;
	}

private:
	static void collect(const Value &v, std::vector<Tensor> &out)
	{
		if (v.kind() == MPKR_KIND_TUPLE)
			for (std::size_t i = 0; i < v.size(); i++)
				collect(v[i], out);
		else if (v.kind() != MPKR_KIND_NONE)
			out.push_back(v.tensor());
	}
	std::vector<mpkr_type> types(int (*ask)(const mpkr_function *, std::size_t,
						mpkr_type *)) const
	{
		std::vector<mpkr_type> out;
		mpkr_type t;

		while (ask(get(), out.size(), &t) == MPKR_OK)
			out.push_back(t);
		return out;
	}
	struct Drop {
		void operator()(mpkr_function *f) const noexcept { mpkr_drop(f); }
	};
	std::shared_ptr<const void> listeners_; // goes last
	std::unique_ptr<mpkr_function, Drop> function_;
};

// A call that a model makes of a function of the application.
class Call {
public:
	explicit Call(const mpkr_invocation &call) : call_(call) {}
	std::string_view name() const { return call_.name; }
	std::size_t size() const noexcept { return call_.count; }
	mpkr_model *model() const noexcept { return call_.model; }
	mpkr_kind kind(std::size_t i) const { return mpkr_value_kind(at(i)); }
	// The memory of an argument itself, to be read and written until the function returns.
	Tensor tensor(std::size_t i, std::int32_t device_type = 0) const
	{
		mpkr_error err;
		mpkr_result *out;

		detail::check(mpkr_value_tensor(at(i), device_type, &out, &err), err);
		return Tensor(out);
	}
	// An argument to keep or to give back.
	Value hold(std::size_t i) const
	{
		mpkr_error err;
		mpkr_value *out;

		detail::check(mpkr_value_hold(at(i), &out, &err), err);
		return Value(out);
	}

private:
	const mpkr_value *at(std::size_t i) const
	{
		if (i >= call_.count)
			throw Error(MPKR_E_USAGE, "fewer arguments than the function takes");
		return call_.args[i];
	}
	const mpkr_invocation &call_;
};

// What it throws is what the model raises. Its value may be none.
using Callback = std::function<Value(const Call &)>;

namespace detail {

inline int fail(mpkr_error *err, int code, const char *text)
{
	std::size_t len = std::string_view(text).copy(err->text, sizeof err->text - 1);

	err->text[len] = '\0';
	return code;
}
inline int enter(void *context, const mpkr_invocation *call, mpkr_value **result,
		 mpkr_error *err)
{
	try {
		*result = (*static_cast<Callback *>(context))(Call(*call)).release();
		return 0;
	} catch (const std::bad_alloc &) {
		return MPKR_E_NO_MEMORY;
	} catch (const Error &e) {
		return fail(err, e.code(), e.what());
	} catch (const std::exception &e) {
		return fail(err, MPKR_E_RAISED, e.what());
	} catch (...) {
		return MPKR_E_RAISED;
	}
}

} // namespace detail

// A function that models call by name as long as this is there.
class Registration {
public:
	// model NULL: for all models of the process
	Registration(mpkr_model *model, std::string name, Callback function)
		: model_(model), name_(std::move(name)),
		  function_(std::make_unique<Callback>(std::move(function)))
	{
		mpkr_error err;

		detail::check(mpkr_register(model_, name_.c_str(), detail::enter,
					    function_.get(), &err),
			      err);
	}
	Registration(Registration &&) = default;
	Registration(const Registration &) = delete;
	Registration &operator=(const Registration &) = delete;
	~Registration()
	{
		if (function_)
			(void)mpkr_register(model_, name_.c_str(), nullptr, nullptr, nullptr);
	}

private:
	mpkr_model *model_;
	std::string name_;
	std::unique_ptr<Callback> function_;
};

// What sees operators of a model as long as this is there; it comes and goes while no call is under way.
class Watch {
public:
	// Returns enum mpkr_watch. What it throws ends the call with MPKR_E_STOPPED.
	using Watcher = std::function<int(const mpkr_event &)>;
	Watch(mpkr_model *model, Watcher watcher)
		: model_(model), watcher_(std::make_unique<Watcher>(std::move(watcher)))
	{
		mpkr_watch(model_, see, watcher_.get());
	}
	Watch(Watch &&) = default;
	Watch(const Watch &) = delete;
	Watch &operator=(const Watch &) = delete;
	~Watch()
	{
		if (watcher_)
			mpkr_watch(model_, nullptr, nullptr);
	}

private:
	static int see(void *context, const mpkr_event *event)
	{
		try {
			return (*static_cast<Watcher *>(context))(*event);
		} catch (...) {
			return MPKR_WATCH_STOP;
		}
	}
	mpkr_model *model_;
	std::unique_ptr<Watcher> watcher_;
};

class Model {
public:
	Model(const std::string &path, Options options)
		: listeners_(std::make_shared<Options>(std::move(options)))
	{
		mpkr_options c = listeners_->c;
		mpkr_memory memory = {};
		mpkr_error err;
		mpkr_model *out;

		c.size = sizeof c;
		memory.size = sizeof memory;
		memory.budget = listeners_->budget;
		if (memory.budget)
			c.host_memory = c.device_memory = &memory;
		if (listeners_->log)
			c.log = [](void *o, const char *text) {
				static_cast<Options *>(o)->log(text);
			};
		if (listeners_->loaded)
			c.loaded = [](void *o, std::uint64_t bytes) {
				static_cast<Options *>(o)->loaded(bytes);
			};
		c.log_context = c.loaded_context = listeners_.get();
		detail::check(mpkr_open(path.c_str(), &c, &out, &err), err);
		model_.reset(out);
	}
	explicit Model(const std::string &path, const mpkr_options *options = nullptr)
	{
		mpkr_error err;
		mpkr_model *out;

		detail::check(mpkr_open(path.c_str(), options, &out, &err), err);
		model_.reset(out);
	}
	// Bytes that stay where they are as long as anything of the model is left.
	Model(const void *bytes, std::size_t len, const mpkr_options *options = nullptr)
	{
		mpkr_error err;
		mpkr_model *out;

		detail::check(mpkr_open_memory(bytes, len, options, &out, &err), err);
		model_.reset(out);
	}
	mpkr_model *get() const noexcept { return model_.get(); }

	// How many tensors of the file are taken.
	std::size_t bind(const std::string &path)
	{
		mpkr_error err;
		std::size_t count;

		detail::check(mpkr_bind_weights(get(), path.c_str(), &count, &err), err);
		return count;
	}
	// What it says of itself, as MLC-LLM's models do; "" for nothing.
	std::string metadata() const
	{
		mpkr_error err;
		const char *out;
		const int code = mpkr_metadata(get(), &out, &err);

		if (code == MPKR_E_NOT_FOUND)
			return "";
		detail::check(code, err);
		return out;
	}
	// What it needs of who runs it; names live as long as the model.
	std::vector<mpkr_requirement> requirements() const
	{
		std::vector<mpkr_requirement> all;
		mpkr_requirement r = {};
		mpkr_error err;
		int code;

		r.size = sizeof r;
		while (!(code = mpkr_requirement_at(get(), all.size(), &r, &err)))
			all.push_back(r);
		if (code != MPKR_E_NOT_FOUND)
			detail::check(code, err);
		return all;
	}
	// What its tensors take now and took at most, in host memory or on other devices.
	mpkr_usage memory_now(std::int32_t device_type = MPKR_DEVICE_CPU) const
	{
		mpkr_usage out = {};
		mpkr_error err;

		out.size = sizeof out;
		detail::check(mpkr_memory_now(get(), device_type, &out, &err), err);
		return out;
	}
	void memory_trim() const noexcept { mpkr_memory_trim(get()); }
	// What a call will take, as the code says; name NULL: of the function that takes most.
	mpkr_need memory_need(const char *name = nullptr,
			      std::initializer_list<mpkr_extent> extents = {}) const
	{
		mpkr_need out = {};
		mpkr_error err;

		out.size = sizeof out;
		detail::check(mpkr_memory_need(get(), name, extents.begin(), extents.size(), &out,
					       &err),
			      err);
		return out;
	}
	// Times of operators, from the begin to the end; the operator that took most first. Names live as long as the model.
	void profile_begin() const noexcept { mpkr_profile(get(), 1); }
	std::vector<mpkr_profile_row> profile_end() const
	{
		std::vector<mpkr_profile_row> rows;
		mpkr_profile_row row = {};
		mpkr_error err;

		mpkr_profile(get(), 0);
		row.size = sizeof row;
		while (mpkr_profile_at(get(), rows.size(), &row, &err) == MPKR_OK)
			rows.push_back(row);
		return rows;
	}
	Function find(const std::string &name) const { return find(name.c_str()); }
	Function find(const char *name = nullptr) const
	{
		mpkr_error err;
		mpkr_function *out;

		detail::check(mpkr_find(get(), name, &out, &err), err);
		return Function(out, listeners_);
	}
	std::vector<std::string> functions() const
	{
		std::vector<std::string> names;

		for (std::size_t i = 0; i < mpkr_function_count(get()); i++)
			if (const char *name = mpkr_function_name(get(), i))
				names.emplace_back(name);
		return names;
	}
	[[nodiscard]] Registration on(std::string name, Callback function)
	{
		return Registration(get(), std::move(name), std::move(function));
	}

	[[nodiscard]] Watch watch(Watch::Watcher watcher)
	{
		return Watch(get(), std::move(watcher));
	}
	// A function of the application as an argument of functions that take functions; the model may keep it.
	Value function(Callback function, const std::string &name = "") const
	{
		auto kept = std::make_unique<Callback>(std::move(function));
		mpkr_error err;
		mpkr_value *out;

		detail::check(mpkr_value_callback(
				      get(), name.c_str(), detail::enter, kept.get(),
				      [](void *f) { delete static_cast<Callback *>(f); }, &out,
				      &err),
			      err);
		(void)kept.release();
		return Value(out);
	}

	// Values of the model.
	Value value(mpkr_kind kind, const View &tensor) const
	{
		mpkr_error err;
		mpkr_value *out;

		detail::check(mpkr_value_make(get(), kind, tensor.get(), &out, &err), err);
		return Value(out);
	}
	Value number(std::int64_t n) const
	{
		return value(MPKR_KIND_NUMBER, View(&n, MPKR_DTYPE_INT, 64, {}));
	}
	Value shape(const std::vector<std::int64_t> &extents) const
	{
		return value(MPKR_KIND_SHAPE, View(extents.data(), MPKR_DTYPE_INT, 64,
						   { static_cast<std::int64_t>(extents.size()) }));
	}
	Value text(std::string_view s) const
	{
		return value(MPKR_KIND_TEXT, View(s.data(), MPKR_DTYPE_UINT, 8,
						  { static_cast<std::int64_t>(s.size()) }));
	}
	Value tuple(std::initializer_list<Arg> items) const
	{
		std::vector<mpkr_arg> args;
		mpkr_error err;
		mpkr_value *out;

		for (const Arg &a : items)
			args.push_back(a.get());
		detail::check(mpkr_value_tuple(get(), args.data(), args.size(), &out, &err), err);
		return Value(out);
	}

private:
	struct Close {
		void operator()(mpkr_model *m) const noexcept { mpkr_close(m); }
	};
	std::shared_ptr<Options> listeners_; // goes last
	std::unique_ptr<mpkr_model, Close> model_;
};

} // namespace mpk

#endif
