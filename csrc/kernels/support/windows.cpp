#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// floor(begin / divisor), floor((begin + step) / divisor), floor((begin + 2 * step) / divisor), ...: without a division for each.
class Quotients {
   public:
    Quotients(int64_t begin, int64_t step, int64_t divisor)
        : divisor_(divisor),
          quotient_(floor_div(begin, divisor)),
          rest_(begin - quotient_ * divisor),
          quotient_step_(step / divisor),
          rest_step_(step % divisor) {}

    int64_t next() {
        const int64_t quotient = quotient_;
        quotient_ += quotient_step_;
        rest_ += rest_step_;
        if (rest_ >= divisor_) rest_ -= divisor_, ++quotient_;
        return quotient;
    }

   private:
    int64_t divisor_, quotient_, rest_, quotient_step_, rest_step_;
};

}  // namespace

int64_t AxisTable::max_windows() const {
    int64_t largest = 0;
    for (int64_t i = 0; i < in; ++i) largest = std::max(largest, last[i] - first[i]);
    return largest;
}

WindowAxis::WindowAxis(int64_t in, int64_t out) : in_(in), out_(out), numbers_(new int64_t[3 * in + out]) {
    std::fill_n(divisor(), out, 1);
}

void WindowAxis::find_runs() {
    int64_t* const run_end = numbers_.get() + 2 * in_;
    int64_t end = in_;
    for (int64_t i = in_ - 1; i >= 0; --i) {
        const bool like_next = i + 1 == in_ || (first()[i] == first()[i + 1] && last()[i] == last()[i + 1]);
        end = like_next ? end : i + 1;
        run_end[i] = end;
    }
}

bool WindowAxis::has_one_window_each() const {
    for (int64_t i = 0; i < in_; i = run_end()[i])
        if (last()[i] - first()[i] != 1) return false;
    return true;
}

int64_t WindowAxis::run_count() const {
    int64_t count = 0;
    for (int64_t i = 0; i < in_; i = run_end()[i]) ++count;
    return count;
}

WindowAxis pooling_axis(const PoolingAxis& pooling) {
    WindowAxis axis(pooling.in, pooling.out);
    // The windows that hold i start in (i - kernel, i].
    Quotients past_start(pooling.padding - pooling.kernel, 1, pooling.step), last_start(pooling.padding, 1, pooling.step);
    for (int64_t i = 0; i < pooling.in; ++i) {
        axis.first()[i] = std::clamp<int64_t>(past_start.next() + 1, 0, pooling.out);
        axis.last()[i] = std::min(pooling.out, last_start.next() + 1);
    }
    for (int64_t o = 0; o < pooling.out; ++o) axis.divisor()[o] = pooling.divisor(o);
    return axis;
}

WindowAxis adaptive_axis(int64_t in, int64_t out) {
    WindowAxis axis(in, out);
    Quotients first(0, out, in), last(out + in - 1, out, in);
    for (int64_t i = 0; i < in; ++i) {
        axis.first()[i] = first.next();
        axis.last()[i] = last.next();
    }
    Quotients begin(0, in, out), end(in + out - 1, in, out);
    for (int64_t o = 0; o < out; ++o) axis.divisor()[o] = end.next() - begin.next();
    return axis;
}

WindowAxis repeat_each(const WindowAxis& axis, int64_t count, int64_t divisor) {
    WindowAxis repeated(axis.in() * count, axis.out());
    for (int64_t i = 0; i < axis.in(); ++i) {
        std::fill_n(repeated.first() + i * count, count, axis.first()[i]);
        std::fill_n(repeated.last() + i * count, count, axis.last()[i]);
    }
    std::transform(axis.divisor(), axis.divisor() + axis.out(), repeated.divisor(), [=](int64_t own) { return own * divisor; });
    return repeated;
}

}  // namespace torch_aclnn::kernels
