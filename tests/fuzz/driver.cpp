// Runs the target without libFuzzer: over files, or over inputs that are made from a seed and a number, the same ones on each machine.
//
//     driver file...                       each file once
//     driver --runs N [--seconds S] [--seed K]   inputs 0..N-1 of the seed, or fewer when the seconds are over
//
// The last input is in ./crash-<seed>-<number> if it ends the process.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxInput = 256;

struct Options {
    uint64_t runs = 0, seed = 1;
    double seconds = 1e9;
    std::vector<std::string> files;
};

Options parse(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        if (name.rfind("--", 0) != 0) {
            options.files.push_back(name);
            continue;
        }
        const char* const value = ++i < count ? arguments[i] : "";
        if (name == "--runs")
            options.runs = std::strtoull(value, nullptr, 10);
        else if (name == "--seed")
            options.seed = std::strtoull(value, nullptr, 10);
        else if (name == "--seconds")
            options.seconds = std::strtod(value, nullptr);
        else
            std::fprintf(stderr, "unknown option %s\n", name.c_str()), std::exit(2);
    }
    return options;
}

Input read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) std::fprintf(stderr, "cannot read %s\n", path.c_str()), std::exit(2);
    return Input(std::istreambuf_iterator<char>(file), {});
}

// Makes inputs of random bytes. Every second one is a recent input that was computed, with a few bytes changed, because few random calls
// pass all checks of their arguments.
class Generator {
   public:
    explicit Generator(uint64_t seed) : seed_(seed) {}

    Input make(uint64_t number) {
        std::mt19937_64 random(seed_ * 0x9E3779B97F4A7C15ULL + number);
        Input input(16 + random() % (kMaxInput - 16));
        for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
        if (number % 2 == 1 && !far_.empty()) {
            input = far_[random() % far_.size()];
            for (uint64_t changes = 1 + random() % 4; changes > 0; --changes)
                input[random() % input.size()] = static_cast<uint8_t>(random());
        }
        return input;
    }
    // Keeps an input that was computed, for others to be made from.
    void keep(const Input& input) {
        if (far_.size() < kKept)
            far_.push_back(input);
        else
            far_[next_++ % kKept] = input;
    }

   private:
    static constexpr size_t kKept = 256;
    const uint64_t seed_;
    std::vector<Input> far_;
    size_t next_ = 0;
};

void save(const Input& input, const std::string& path) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
}

// What is left behind when a run does not return.
Input current;
std::string current_path;

void save_current() {
    save(current, current_path);
}

int run_made(const Options& options) {
    const auto begin = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    Generator generator(options.seed);
    uint64_t number = 0;
    for (; number < options.runs && elapsed() < options.seconds; ++number) {
        current = generator.make(number);
        current_path = "crash-" + std::to_string(options.seed) + "-" + std::to_string(number);
        const uint64_t computed = fuzz::counts().computed;
        LLVMFuzzerTestOneInput(current.data(), current.size());
        if (fuzz::counts().computed > computed) generator.keep(current);
    }
    const fuzz::Counts& counts = fuzz::counts();
    std::printf("%llu executions in %.1f s, %llu accepted, %llu computed\n", static_cast<unsigned long long>(number), elapsed(),
                static_cast<unsigned long long>(counts.accepted), static_cast<unsigned long long>(counts.computed));
    return 0;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

int main(int count, char** arguments) {
    const Options options = parse(count, arguments);
    for (const std::string& path : options.files) {
        const Input input = read(path);
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    if (options.runs == 0) return 0;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(save_current);
#endif
    std::signal(SIGABRT, [](int) {
        save_current();
        std::_Exit(134);
    });
    return run_made(options);
}
