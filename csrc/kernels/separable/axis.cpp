#include "kernels/separable/axis.h"

#include <cstdlib>

namespace torch_aclnn::kernels {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// Gives floor(begin / divisor), floor((begin + step) / divisor), floor((begin + 2 * step) / divisor), ... without a division for each.
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

AxisSpec adaptive_spec(int64_t in, int64_t out) {
    if (out != 0 && in % out == 0) return {AxisSpec::Kind::windows, in, out, in / out, in / out, 0, true, 0};
    return {AxisSpec::Kind::adaptive, in, out, 0, 0, 0, true, 0};
}

Axis::Axis(int64_t in, int64_t out, bool has_sources)
    : in_(in), out_(out), has_sources_(has_sources), numbers_((has_sources ? 2 : 3) * in + out) {}

Axis::Axis(const AxisSpec& spec) : Axis(spec.in, spec.out, !spec.has_windows()) {
    switch (spec.kind) {
        case AxisSpec::Kind::windows: fill_windows(spec); break;
        case AxisSpec::Kind::adaptive: fill_adaptive_windows(); break;
        default: fill_sources(spec);
    }
}

void Axis::fill_windows(const AxisSpec& spec) {
    // The windows that hold i start in (i - kernel, i].
    Quotients past_start(spec.before - spec.kernel, 1, spec.step), last_start(spec.before, 1, spec.step);
    for (int64_t i = 0; i < in_; ++i) {
        first()[i] = std::clamp<int64_t>(past_start.next() + 1, 0, out_);
        last()[i] = std::min(out_, last_start.next() + 1);
    }
    for (int64_t o = 0; o < out_; ++o) divisor()[o] = spec.divisor(o);
    find_runs();
}

// The definition of the windows, solved for o, gives the windows that hold input index i.
void Axis::fill_adaptive_windows() {
    Quotients first_window(0, out_, in_), last_window(out_ + in_ - 1, out_, in_);
    for (int64_t i = 0; i < in_; ++i) {
        first()[i] = first_window.next();
        last()[i] = last_window.next();
    }
    Quotients begin(0, in_, out_), end(in_ + out_ - 1, in_, out_);
    for (int64_t o = 0; o < out_; ++o) divisor()[o] = end.next() - begin.next();
    find_runs();
}

// Lists the sources of each index in ascending order, without those that were cropped off.
void Axis::fill_sources(const AxisSpec& spec) {
    int64_t *const source = divisor(), count = 0;
    const auto add = [&](int64_t o) {
        if (o >= 0 && o < out_) source[count++] = o;
    };
    const auto add_terms = [&](int64_t i) {
        first()[i] = count;
        const int64_t copy = spec.before + i, last_index = in_ - 1;
        if (spec.kind == AxisSpec::Kind::replication) {  // the border cells take all terms beyond them
            const int64_t begin = i == 0 ? 0 : copy, end = i == last_index ? out_ - 1 : copy;
            for (int64_t o = std::max<int64_t>(begin, 0); o <= std::min(end, out_ - 1); ++o) source[count++] = o;
        } else if (spec.kind == AxisSpec::Kind::reflection) {  // at the first and the last index, which are copied once
            if (i > 0) add(spec.before - i);
            add(copy);
            if (i < last_index) add(copy + 2 * (last_index - i));
        } else {  // also one period to either side
            for (int64_t period = -1; period <= 1; ++period) add(copy + period * in_);
        }
        last()[i] = count;
    };
    // Farther from the ends than the padding reaches, each index is copied once. Long rows consist of these.
    const int64_t border = 1 + std::max(std::abs(spec.before), std::abs(out_ - in_ - spec.before));
    int64_t i = 0;
    for (; i < std::min(border, in_); ++i) add_terms(i);
    for (; i < in_ - border; ++i) {
        first()[i] = count;
        source[count++] = spec.before + i;
        last()[i] = count;
    }
    for (; i < in_; ++i) add_terms(i);
}

void Axis::find_runs() {
    int64_t* const run_end = divisor() + out_;
    int64_t end = in_;
    for (int64_t i = in_ - 1; i >= 0; --i) {
        const bool like_next = i + 1 == in_ || (first()[i] == first()[i + 1] && last()[i] == last()[i + 1]);
        end = like_next ? end : i + 1;
        run_end[i] = end;
    }
}

bool Axis::has_one_divisor() const {
    return std::all_of(divisor(), divisor() + out_, [this](int64_t d) { return d == divisor()[0]; });
}

int64_t Axis::most_terms() const {
    int64_t most = 0;
    for (int64_t i = 0; i < in_; ++i) most = std::max(most, last()[i] - first()[i]);
    return most;
}

int64_t Axis::sum_count() const {
    int64_t count = 0;
    for (int64_t i = 0; i < in_; ++i) count += last()[i] - first()[i] > 1 ? 1 : 0;
    return count;
}

bool Axis::has_one_term_each() const {
    return std::equal(first(), first() + in_, last(), [](int64_t begin, int64_t end) { return end - begin == 1; });
}

int64_t Axis::run_count() const {
    int64_t count = 0;
    for (int64_t i = 0; i < in_; i = run_end()[i]) ++count;
    return count;
}

Axis Axis::combine(const Axis& inner) const {
    Axis combined(in_ * inner.in_, out_ * inner.out_, true);
    const AxisTable outer_table = table(), inner_table = inner.table();
    int64_t *const source = combined.divisor(), count = 0;
    for (int64_t i = 0, index = 0; i < in_; ++i)
        for (int64_t k = 0; k < inner.in_; ++k, ++index) {
            combined.first()[index] = count;
            for (int64_t t = outer_table.first[i]; t < outer_table.last[i]; ++t)
                for (int64_t u = inner_table.first[k]; u < inner_table.last[k]; ++u)
                    source[count++] = outer_table.source[t] * inner.out_ + inner_table.source[u];
            combined.last()[index] = count;
        }
    return combined;
}

}  // namespace torch_aclnn::kernels
