// The environment, read once. A setting that cannot be understood is reported by aclInit; until then the default stands in.

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/runtime/config/fault_specification.h"
#include "engine/runtime/config/soc.h"
#include "engine/runtime/error/guarded.h"
#include "kernels/support/choices.h"

namespace torch_aclnn::host {
namespace {

constexpr const char* kDefaultSoc = "Ascend910B3";
constexpr size_t kMinMemory = size_t{1} << 20;
constexpr size_t kChipMemory = size_t{64} << 30;  // the memory of an Ascend910B3
constexpr long kMaxDevices = 64;
constexpr long kMaxThreads = 4096;

struct Settings {
    Config config;
    std::string error;  // the message for the first variable that could not be understood

    void reject(const char* variable, const std::string& expected, const char* got) {
        if (error.empty()) error = text(variable, ": expected ", expected, ", got \"", got, "\"");
    }
};

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

// Reads a whole decimal number in [min, max]; false for anything else.
bool read_number(const char* value, long min, long max, int& number) {
    char* end = nullptr;
    errno = 0;
    const long parsed = std::strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || parsed < min || parsed > max) return false;
    number = static_cast<int>(parsed);
    return true;
}

// Reads "8G", "512M", "64K" or plain bytes.
bool read_bytes(const char* value, size_t& bytes) {
    if (!std::isdigit(static_cast<unsigned char>(*value))) return false;
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(value, &end, 10);
    if (errno != 0) return false;
    int shift = 0;
    if (*end != '\0') {
        switch (std::toupper(static_cast<unsigned char>(*end))) {
            case 'K': shift = 10; break;
            case 'M': shift = 20; break;
            case 'G': shift = 30; break;
            case 'T': shift = 40; break;
            default: return false;
        }
        if (end[1] != '\0') return false;
    }
    if (number > (SIZE_MAX >> 1) >> shift) return false;
    bytes = static_cast<size_t>(number) << shift;
    return true;
}

// Returns the number of cores that this process may run on, unless OpenMP has been told otherwise.
int default_thread_count() {
    if (const char* value = variable("OMP_NUM_THREADS")) {
        int threads = 0;
        const std::string outermost(value, std::strcspn(value, ","));  // the list has one number per nesting level
        if (read_number(outermost.c_str(), 1, kMaxThreads, threads)) return threads;
    }
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
    return 1;
}

void read_soc(Settings& settings) {
    const char* value = variable("TORCH_ACLNN_HOST_SOC");
    if (value == nullptr) return;
    const auto product = find_product(value);
    if (!product) return settings.reject("TORCH_ACLNN_HOST_SOC", known_socs(value), value);
    settings.config.soc_name = value;
    settings.config.product = *product;
}

constexpr const char* kReleases[] = {"8.3.RC1", "8.5.0", "9.0.0", "9.1.0", "9.2.0"};

// Returns null for a release that torch_npu would not know.
const char* release_of_variable() {
    const char* value = variable("TORCH_ACLNN_HOST_CANN");
    if (value == nullptr) return TORCH_ACLNN_PRESENTED_CANN;
    const auto* const found =
        std::find_if(std::begin(kReleases), std::end(kReleases), [&](const char* known) { return std::strcmp(known, value) == 0; });
    return found == std::end(kReleases) ? nullptr : *found;
}

void check_cann(Settings& settings) {
    if (release_of_variable() != nullptr) return;
    std::string known = "one of";
    for (const char* release : kReleases) known += (release == kReleases[0] ? " " : ", ") + std::string(release);
    settings.reject("TORCH_ACLNN_HOST_CANN", known, variable("TORCH_ACLNN_HOST_CANN"));
}

constexpr const char* kMode = "TORCH_ACLNN_HOST_MODE";

// The words of TORCH_ACLNN_HOST_MODE; torch_aclnn/loading/modes.py has them too.
constexpr std::pair<const char*, bool Config::*> kModes[] = {
    {"async", &Config::asynchronous},      {"check_streams", &Config::check_streams},
    {"float64", &Config::allow_float64},   {"hf32", &Config::hf32},
    {"isolate", &Config::isolate},         {"keep_handles", &Config::keep_handles},
    {"leaks", &Config::list_leaks},        {"npu_workspace", &Config::npu_workspace},
    {"poison", &Config::poison},           {"strict", &Config::strict},
    {"unspecified", &Config::unspecified}, {"workspace", &Config::use_workspace}};

// Refuses variables of earlier releases, and says what is set now.
void reject_former(Settings& settings) {
    const auto reject = [&](const char* name, const std::string& now) {
        if (const char* value = variable(name)) settings.reject(name, "none, but " + now, value);
    };
    reject("TORCH_ACLNN_HOST_LIBRARIES", "a directory in ASCEND_CUSTOM_OPP_PATH");
    for (const auto& [word, on] : kModes) {
        std::string name = "TORCH_ACLNN_HOST_";
        for (const char* letter = word; *letter != '\0'; ++letter) name += static_cast<char>(std::toupper(*letter));
        reject(name.c_str(), text(kMode, "=", word));
    }
}

void read_count(Settings& settings, const char* name, long max, int& count) {
    const char* value = variable(name);
    if (value == nullptr || read_number(value, 1, max, count)) return;
    settings.reject(name, text("a number in 1..", max), value);
}

// Unless the variable says otherwise, there is one device for each process that torchrun, or what sets the same variable, starts on this
// machine.
void read_device_count(Settings& settings) {
    int& count = settings.config.device_count;
    const char* processes = variable("LOCAL_WORLD_SIZE");
    if (processes != nullptr && read_number(processes, 1, INT_MAX, count)) count = std::min<int>(count, kMaxDevices);
    read_count(settings, "TORCH_ACLNN_HOST_DEVICES", kMaxDevices, count);
}

void read_size(Settings& settings, const char* name, const char* least_text, size_t least, size_t& size) {
    const char* value = variable(name);
    size_t bytes = 0;
    if (value == nullptr) return;
    if (!read_bytes(value, bytes) || bytes < least)
        return settings.reject(name, text("at least ", least_text, ", as bytes or with a suffix K, M, G or T"), value);
    size = bytes;
}

void read_switch(Settings& settings, const char* name, bool& on) {
    const char* value = variable(name);
    if (value == nullptr) return;
    if (std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0) return settings.reject(name, "0 or 1", value);
    on = *value == '1';
}

// The load of one half of the experts, as a multiple of the mean load; the other half has the rest.
void read_load(Settings& settings, const char* name, double& load) {
    const char* const value = variable(name);
    if (value == nullptr) return;
    char* end = nullptr;
    const double found = std::strtod(value, &end);
    if (end == value || *end != '\0' || !(found >= 0 && found <= 2)) return settings.reject(name, "a number from 0 to 2", value);
    load = found;
}

// The kernels read their variables themselves; they are checked here, so that a wrong name is reported before the first operator.
template <size_t N>
void check_choice_of_kernels(Settings& settings, const char* name, const char* const (&names)[N]) {
    const char* value = variable(name);
    if (value != nullptr && !kernels::is_choice(value, names)) settings.reject(name, kernels::choices(names), value);
}

// A dry run presents as much memory as a chip has, because it uses none of the machine's.
void read_dry_run(Settings& settings) {
    Config& config = settings.config;
    bool computes = true;
    read_switch(settings, "TORCH_ACLNN_HOST_COMPUTE", computes);
    config.dry_run = !computes;
    if (config.dry_run) config.memory_bytes = kChipMemory, config.npu_workspace = true;
    read_size(settings, "TORCH_ACLNN_HOST_KNOWN", "0", 0, config.known_bytes);
    read_size(settings, "TORCH_ACLNN_HOST_MEMORY", "1M", kMinMemory, config.memory_bytes);
    read_load(settings, "TORCH_ACLNN_HOST_EXPERT_LOAD", config.expert_load);
}

// Reads the modes. Refuses one that accepts more than the documents promise beside one that accepts no more. A dry run has no values to
// poison.
void read_modes(Settings& settings) {
    const char* const value = variable(kMode);
    if (value == nullptr) return;
    Config& config = settings.config;
    std::string names;
    for (const auto& [name, on] : kModes) names += text(names.empty() ? "" : ", ", name);
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');) {
        word.erase(0, word.find_first_not_of(' '));
        word.erase(word.find_last_not_of(' ') + 1);
        bool known = word.empty();
        for (const auto& [name, on] : kModes)
            if (word == name) config.*on = known = true;
        if (!known) return settings.reject(kMode, "words of " + names + " with commas between them", value);
    }
    if (config.unspecified) config.strict = config.use_workspace = config.poison = true;
    if (config.dry_run) config.poison = false;
    if (config.strict && (config.allow_float64 || config.keep_handles)) {
        const char* const extension = config.allow_float64 ? "float64" : "keep_handles";
        const char* const excludes = config.unspecified ? "unspecified" : "strict";
        settings.reject(kMode, text("no ", extension, ", which no document has, beside ", excludes), value);
    }
}

// Delays need other threads, so they imply the mode async.
void read_delays(Settings& settings) {
    const char* value = variable("TORCH_ACLNN_HOST_DELAYS");
    if (value == nullptr) return;
    if (!read_number(value, 0, INT_MAX, settings.config.delay_seed))
        return settings.reject("TORCH_ACLNN_HOST_DELAYS", text("a seed in 0..", INT_MAX), value);
    if (settings.config.delay_seed != 0) settings.config.asynchronous = true;
}

void read_faults(Settings& settings) {
    const char* value = variable("TORCH_ACLNN_HOST_FAULT");
    if (value == nullptr) return;
    try {
        (void)parse_faults(value);
        settings.config.faults = value;
    } catch (const Error& error) {
        if (settings.error.empty()) settings.error = text("TORCH_ACLNN_HOST_FAULT: ", error.what());
    }
}

Settings* read_environment() {
    auto* settings = new Settings;
    settings->config.soc_name = kDefaultSoc;
    settings->config.thread_count = default_thread_count();
    read_soc(*settings);
    check_cann(*settings);
    reject_former(*settings);
    read_device_count(*settings);
    read_dry_run(*settings);
    read_modes(*settings);
    read_count(*settings, "TORCH_ACLNN_HOST_THREADS", kMaxThreads, settings->config.thread_count);
    check_choice_of_kernels(*settings, kernels::kIsaVariable, kernels::kIsaNames);
    check_choice_of_kernels(*settings, kernels::kLoopVariable, kernels::kLoopNames);
    read_switch(*settings, "TORCH_ACLNN_HOST_CHECK_COLLECTIVES", settings->config.compare_ranks);
    read_switch(*settings, "TORCH_ACLNN_HOST_RANK_ALONE", settings->config.rank_alone);
    read_delays(*settings);
    read_faults(*settings);
    if (const char* value = variable("TORCH_ACLNN_HOST_TRACE")) settings->config.trace = value;
    return settings;
}

// The settings are never destroyed, because calls still come while the process exits.
const Settings& settings() {
    static const Settings* const once = read_environment();
    return *once;
}

}  // namespace

const Config& config() {
    return settings().config;
}

// The variable has ascending numbers with commas between them; documented: what is anything else ends the list. Numbers that do not ascend
// leave none, as torch_npu's tests have it. Only how many there are makes a difference, because a process numbers those that it sees from
// 0. The machine has all that are named unless TORCH_ACLNN_HOST_DEVICES says how many it has.
const char* presented_cann() {
    static const char* const once = release_of_variable();
    return once != nullptr ? once : TORCH_ACLNN_PRESENTED_CANN;
}

int visible_device_count() {
    const char* const value = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (value == nullptr) return config().device_count;
    const long existing = variable("TORCH_ACLNN_HOST_DEVICES") != nullptr ? config().device_count : kMaxDevices;
    int visible = 0;
    long previous = -1;
    for (const char* next = value; std::isdigit(static_cast<unsigned char>(*next)); ++next) {
        char* end = nullptr;
        const long device = std::strtol(next, &end, 10);
        if (device >= existing) break;
        if (device <= previous) return 0;
        ++visible;
        previous = device;
        if (*(next = end) != ',') break;
    }
    return visible;
}

void require_valid_config() {
    if (!settings().error.empty()) throw Error(ACL_ERROR_INVALID_PARAM, settings().error);
}

}  // namespace torch_aclnn::host
