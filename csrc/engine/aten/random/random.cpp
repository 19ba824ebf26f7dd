// Random numbers, from the seed and the offset that the caller's generator gives (see random_numbers.h: they are the engine's own).
#include <ATen/CPUGeneratorImpl.h>

#include "engine/aten/random/random_numbers.h"
#include "vocabulary/random/random_calls.h"

static void fill_uniform(at::Tensor& out, double from, double to, const PhiloxStream& stream) {
    const int digits = mantissa_digits(out.scalar_type());
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return stream.uniform(i, digits) * (to - from) + from; }));
}

// Fills with whole numbers of [from, to), in any dtype.
static void fill_random(at::Tensor& out, int64_t from, int64_t to, const PhiloxStream& stream) {
    const uint64_t range = uint64_t(to) - uint64_t(from);
    out.copy_(drawn<int64_t>(out.sizes(), [&](int64_t i) { return int64_t(uint64_t(from) + stream.integer(i, range)); }));
}

// Fills with whole numbers from 0 to the largest of the type; floating-point types have them up to where gaps begin.
static void fill_random(at::Tensor& out, const PhiloxStream& stream) {
    int64_t range = 2;  // the range for BOOL
    if (out.is_floating_point())
        range = (int64_t{1} << mantissa_digits(out.scalar_type())) + 1;
    else if (out.scalar_type() != at::kBool)
        range = int64_t(uint64_t{1} << (8 * out.element_size() - (at::isSignedType(out.scalar_type()) ? 1 : 0)));
    fill_random(out, 0, range, stream);
}

static void fill_bernoulli(at::Tensor& out, const at::Tensor& prob, const PhiloxStream& stream) {
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return stream.uniform(i); }) < prob.to(at::kDouble));
}

static void fill_exponential(at::Tensor& out, double lambda, const PhiloxStream& stream) {
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return -std::log1p(-stream.uniform(i)) / lambda; }));
}

// This is ATen's algorithm, on a generator of its own for each call.
static void write_multinomial(at::Tensor& out, const at::Tensor& self, int64_t draws, bool replacement, const PhiloxStream& stream) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(stream.bits(0));
    write(out, at::multinomial(upcast(self), draws, replacement, generator));
}

static void compute(const call::Randperm& a) {
    const PhiloxStream stream(a.seed, a.offset);
    at::Tensor order = at::arange(a.n, at::kLong);
    int64_t* const first = order.data_ptr<int64_t>();
    for (int64_t i = a.n - 1; i > 0; i--) std::swap(first[i], first[stream.integer(i, i + 1)]);
    write(a.out, order);
}
