// Runs of one value: the values of many runs are computed in lanes, and then each is stored as often as its run is long.
#include "kernels/separable/jobs.h"
#include "kernels/simd/planes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

template <class T, int kTerms>
class FullWidthWindows {
   public:
    explicit FullWidthWindows(const FullWidthJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) {
        const int64_t width = job_.grad_input.size[4];
        const auto fill_rows = [&](const T* source, T* target, int64_t, int64_t h, int64_t h_end) {
            for (int64_t next; h < h_end; h = next) {
                next = smaller(h_end, job_.rows.run_end[h]);
                add(source, h, {target + h * width, (next - h) * width});
            }
        };
        for_planes<T>(job_.grad_output, job_.grad_input, job_.rows.in, begin, end, fill_rows);
        write();
    }

   private:
    using S = Sum<T>;
    static constexpr int N = kLanes<S>, kBlock = 64;

    struct Run {
        T* target;
        int64_t size;
    };

    void add(const T* source, int64_t h, Run run) {
        const int64_t first = job_.rows.first[h], count = job_.rows.last[h] - first;
        for (int t = 0; t < kTerms; ++t) {
            const bool is_there = kTerms == 1 || t < count;
            elements_[t][count_] = is_there ? source[(first + t) * job_.grad_output.stride[3]] : T{};
            if (job_.rows.scale != nullptr) scales_[t][count_] = is_there ? static_cast<const S*>(job_.rows.scale)[first + t] : S{0};
        }
        runs_[count_] = run;
        if (++count_ == kBlock) write();
    }

    void write() {
        const S column_scale = *static_cast<const S*>(job_.column_scale);
        for (int i = 0; i < count_; i += N) {
            auto value = term(0, i);
            for (int t = 1; t < kTerms; ++t) value += term(t, i);
            store<N>(elements_[0] + i, value * column_scale + S{0});
        }
        for (int i = 0; i < count_; ++i) fill(runs_[i], elements_[0][i]);
        count_ = 0;
    }

    Vector<S, N> term(int t, int i) const {
        const auto element = load<N>(elements_[t] + i);
        return job_.rows.scale == nullptr ? element : element * load<N>(scales_[t] + i);
    }

    // The last vector may cover elements of the one before again.
    static void fill(Run run, T value) {
        constexpr int kElements = kVectorBytes / static_cast<int>(sizeof(T));
        const auto all = Vector<BitsOf<T>, kElements>{} + load_bytes<BitsOf<T>>(&value);
        if (run.size < kElements) {
            for (int64_t i = 0; i < run.size; ++i) run.target[i] = value;
            return;
        }
        for (int64_t i = 0; i < run.size - kElements; i += kElements) store_bytes(run.target + i, all);
        store_bytes(run.target + run.size - kElements, all);
    }

    const FullWidthJob& job_;
    T elements_[kTerms][kBlock] = {};
    S scales_[kTerms][kBlock] = {};
    Run runs_[kBlock];
    int count_ = 0;
};

}  // namespace

void full_width_windows(const FullWidthJob& job, int64_t begin, int64_t end) {
    static_assert(FullWidthJob::kMaxTerms == 2);
    visit_sums(job.grad_input.dtype, [&](auto element) {
        using T = decltype(element);
        job.terms > 1 ? FullWidthWindows<T, 2>(job).run(begin, end) : FullWidthWindows<T, 1>(job).run(begin, end);
    });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
