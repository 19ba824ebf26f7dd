#include "engine/runtime/config/fault_specification.h"

#include <fnmatch.h>

#include <cctype>
#include <cstring>
#include <limits>

#include "engine/runtime/error/code_table.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

constexpr const char* kExpected =
    "faults as <what>:<when>[=<code>] with commas between them, where <what> is alloc, stream, device, a function, <operator>@run or "
    "<operator>@result, <when> is 3, 3-5, 3- or %3, and <code> is one of docs/error_codes.md";
constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();
// The words that may follow the name of an operator.
constexpr struct {
    const char* suffix;
    FaultKind kind;
} kOfOperators[] = {{"@run", FaultKind::run}, {"@result", FaultKind::result}};

[[noreturn]] static void refuse_faults(const std::string& text) {
    throw Error(ACL_ERROR_INVALID_PARAM, std::string("expected ") + kExpected + ", got \"" + text + '"');
}

static bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static bool starts_with(const std::string& text, const std::string& start) {
    return text.compare(0, start.size(), start) == 0;
}

// Returns a whole number from 1 that is all of the text; 0 for anything else.
static uint64_t number(const std::string& text) {
    constexpr size_t kMaxDigits = 18;
    uint64_t value = 0;
    if (text.size() > kMaxDigits) return 0;
    for (const char c : text) {
        if (!std::isdigit(static_cast<unsigned char>(c))) return 0;
        value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    return value;
}

// Only functions of the interface can be named; "*" stands for any part of a name.
static bool is_name(const std::string& name) {
    for (const char c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '*') return false;
    return starts_with(name, "acl") || starts_with(name, "Hccl") || starts_with(name, "*");
}

static bool read_what(const std::string& what, Fault& fault) {
    fault.pattern = what;
    for (const auto& of_operator : kOfOperators) {
        if (!ends_with(what, of_operator.suffix)) continue;
        fault.kind = of_operator.kind;
        fault.pattern.erase(what.size() - std::strlen(of_operator.suffix));
        return is_name(fault.pattern);
    }
    if (what == "alloc") {
        fault.kind = FaultKind::allocation;
    } else if (what == "stream") {
        fault.kind = FaultKind::stream;
    } else if (what == "device") {
        fault.kind = FaultKind::device;
    } else {
        fault.kind = FaultKind::call;
        return is_name(what);
    }
    return true;
}

static bool read_when(const std::string& when, Fault& fault) {
    const size_t dash = when.find('-');
    fault.step = 1;
    if (starts_with(when, "%")) {
        fault.first = fault.step = number(when.substr(1));
        fault.last = kForEver;
    } else if (dash == std::string::npos) {
        fault.first = fault.last = number(when);
    } else {
        fault.first = number(when.substr(0, dash));
        fault.last = dash + 1 == when.size() ? kForEver : number(when.substr(dash + 1));
    }
    return fault.first != 0 && fault.last >= fault.first;
}

static bool read_code(const std::string& code, Fault& fault) {
    constexpr uint64_t kMaxCode = 999999;
    const uint64_t value = number(code);
    if (value > kMaxCode || find_code(static_cast<int>(value)) == nullptr) return false;
    fault.code = static_cast<int>(value);
    return true;
}

static bool read_fault(const std::string& text, Fault& fault) {
    const size_t colon = text.find(':');
    const size_t equals = text.find('=');
    if (colon == std::string::npos || equals < colon) return false;
    fault.text = text;
    fault.code = 0;
    return read_what(text.substr(0, colon), fault) && read_when(text.substr(colon + 1, equals - colon - 1), fault) &&
           (equals == std::string::npos || (fault.kind != FaultKind::result && read_code(text.substr(equals + 1), fault)));
}

std::vector<Fault> parse_faults(const std::string& text) {
    std::vector<Fault> faults;
    for (size_t start = 0; start <= text.size() && !text.empty();) {
        const size_t end = std::min(text.find(',', start), text.size());
        faults.emplace_back();
        if (!read_fault(text.substr(start, end - start), faults.back())) refuse_faults(text);
        start = end + 1;
    }
    return faults;
}

bool matches(const Fault& fault, const char* name) {
    return fnmatch(fault.pattern.c_str(), name, 0) == 0;
}

}  // namespace torch_aclnn::host
