// Runs of one value: the values of many runs are computed in lanes, and then each is stored as often as its run is long.
#include "kernels/full_width_windows/job.h"
#include "kernels/simd/planes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

template <class T>
class FullWidthWindows {
   public:
    explicit FullWidthWindows(const FullWidthJob& job) : job_(job) {}

    void run(int64_t begin, int64_t end) {
        const int64_t width = job_.grad_input.size[3], step = job_.grad_output.stride[2];
        for_planes<T>(job_, begin, end, [&](const T* source, T* target, int64_t h, int64_t h_end) {
            for (int64_t next; h < h_end; h = next) {
                const int64_t window = job_.rows.first[h];
                next = smaller(h_end, job_.rows.run_end[h]);
                add(source[window * step], window, {target + h * width, (next - h) * width});
            }
        });
        write();
    }

   private:
    using S = Sum<T>;
    static constexpr int N = kLanes<S>, kBlock = 64;

    struct Run {
        T* target;
        int64_t size;
    };

    void add(T element, int64_t window, Run run) {
        elements_[count_] = element;
        if (job_.rows.scale != nullptr) scales_[count_] = static_cast<const S*>(job_.rows.scale)[window];
        runs_[count_] = run;
        if (++count_ == kBlock) write();
    }

    void write() {
        const S column_scale = *static_cast<const S*>(job_.column_scale);
        for (int i = 0; i < count_; i += N) {
            auto value = load<N>(elements_ + i);
            if (job_.rows.scale != nullptr) value *= load<N>(scales_ + i);
            store<N>(elements_ + i, value * column_scale + S{0});
        }
        for (int i = 0; i < count_; ++i) fill(runs_[i], elements_[i]);
        count_ = 0;
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
    T elements_[kBlock] = {};
    S scales_[kBlock] = {};
    Run runs_[kBlock];
    int count_ = 0;
};

}  // namespace

void full_width_windows(const FullWidthJob& job, int64_t begin, int64_t end) {
    visit_sums(job.grad_input.dtype, [&](auto element) { FullWidthWindows<decltype(element)>(job).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
