#include "extension/aclnn/symbols.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace torch_aclnn {

namespace files = std::filesystem;

static std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

static std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

// Returns the packages of custom operators that are installed below CANN's own, those with priority first.
static std::vector<std::string> vendors() {
    const std::string opp = variable("ASCEND_OPP_PATH"), priority = "load_priority=";
    std::vector<std::string> directories;
    if (opp.empty()) return directories;
    std::ifstream configuration(opp + "/vendors/config.ini");
    for (std::string line; std::getline(configuration, line);) {
        if (line.rfind(priority, 0) != 0) continue;
        for (const std::string& vendor : split(line.substr(priority.size()), ',')) directories.push_back(opp + "/vendors/" + vendor);
        break;
    }
    return directories;
}

// Whether root or the user of this process owns the file, because another owner could have put anything into it.
static bool is_of_trusted_owner(const std::string& file) {
    struct stat status = {};
    return stat(file.c_str(), &status) == 0 && (status.st_uid == getuid() || status.st_uid == 0);
}

// Returns the parts of the operator library in releases that have divided it.
static std::vector<std::string> parts() {
    const std::string home = variable("ASCEND_HOME_PATH");
    std::vector<std::string> names;
    std::error_code none;
    if (home.empty()) return names;
    for (const auto& entry : files::directory_iterator(home + "/lib64", none)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("libopapi_", 0) == 0 && entry.path().extension() == ".so") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

// Opens the libraries that load, in torch_npu's order: custom operators, the parts of the operator library, the whole library, and its
// older names.
static std::vector<void*> open_libraries() {
    std::vector<void*> opened;
    const auto open = [&](const std::string& file) {
        if (void* library = dlopen(file.c_str(), RTLD_LAZY)) opened.push_back(library);
    };
    std::vector<std::string> custom = split(variable("ASCEND_CUSTOM_OPP_PATH"), ':');
    for (const std::string& directory : vendors()) custom.push_back(directory);
    for (const std::string& directory : custom) {
        const std::string file = directory + "/op_api/lib/libcust_opapi.so";
        if (is_of_trusted_owner(file)) open(file);
    }
    for (const std::string& name : parts()) open(name);
    for (const char* name : {"libopapi.so", "libaclnn_ops_infer.so", "libaclnn_ops_train.so", "libaclnn_math.so", "libaclnn_sparse.so",
                             "libaclnn_fft.so", "libaclnn_rand.so"})
        open(name);
    return opened;
}

void* find_operator(const char* name) {
    static const std::vector<void*> libraries = open_libraries();
    for (void* library : libraries)
        if (void* address = dlsym(library, name)) return address;
    return nullptr;
}

void* resolve_operator(const char* name) {
    void* address = find_operator(name);
    TORCH_CHECK_NOT_IMPLEMENTED(address != nullptr, "torch_aclnn: the operator library has no entry point ", name,
                                "; `torch-aclnn info` lists where each one is looked for");
    return address;
}

void* find_in_runtime(const char* name) {
    // torch_npu has loaded the library already, so this only finds its handle.
    static void* const library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace torch_aclnn
