#include "engine/runtime/stream/task.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <sstream>
#include <string>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

template <class Number>
void write(const Choice& choice, double load) {
    auto* to = static_cast<Number*>(host_view(choice.numbers));
    const int64_t half = choice.columns / 2, rest = choice.columns - half, all = choice.rows * choice.chosen;
    if (load == 1) {
        for (int64_t i = 0; i < all; ++i) to[i] = static_cast<Number>(i % choice.columns);
        return;
    }
    const double share = load * static_cast<double>(half) / static_cast<double>(choice.columns);
    int64_t first = 0, second = 0;
    for (int64_t row = 0; row < choice.rows; ++row) {
        const auto wanted = static_cast<int64_t>(std::floor(static_cast<double>((row + 1) * choice.chosen) * share)) - first;
        const int64_t of_first = std::clamp(wanted, std::max(int64_t{0}, choice.chosen - rest), std::min(choice.chosen, half));
        for (int64_t i = 0; i < choice.chosen; ++i) *to++ = static_cast<Number>(i < of_first ? first++ % half : half + second++ % rest);
    }
}

// The number of columns that each row chose last, in a matrix of these sizes.
struct LastChoice {
    std::mutex mutex;
    int64_t rows = 0, columns = 0, chosen = 0;
} last_choice;

template <class Number>
void write_rows(const Choice& choice) {
    auto* const to = static_cast<Number*>(host_view(choice.numbers));
    for (int64_t column = 0; column < choice.columns; ++column) {
        int64_t chosen = 0;
        for (const bool wanted : {true, false})
            for (int64_t row = 0; row < choice.rows && chosen < choice.chosen; ++row) {
                const int64_t after = ((column - row * last_choice.chosen) % choice.columns + choice.columns) % choice.columns;
                if ((after < last_choice.chosen) == wanted) to[chosen++ * choice.columns + column] = static_cast<Number>(row);
            }
    }
}

bool is_of_libraries(const std::string& line) {
    return line.find("/torch/") != std::string::npos || line.find("/torch_npu/") != std::string::npos;
}

}  // namespace

bool is_known(const Choice& choice) {
    const std::lock_guard<std::mutex> lock(last_choice.mutex);
    return !choice.is_of_rows || (last_choice.rows == choice.rows && last_choice.columns == choice.columns);
}

void choose_evenly(const Choice& choice) {
    const std::lock_guard<std::mutex> lock(last_choice.mutex);
    if (choice.is_of_rows) return choice.number_bytes == sizeof(int32_t) ? write_rows<int32_t>(choice) : write_rows<int64_t>(choice);
    last_choice.rows = choice.rows, last_choice.columns = choice.columns, last_choice.chosen = choice.chosen;
    const double load = config().expert_load;
    choice.number_bytes == sizeof(int32_t) ? write<int32_t>(choice, load) : write<int64_t>(choice, load);
}

void note_assumption(const char* what) {
    if (!collecting_findings()) return;
    std::istringstream lines(python_stack());
    std::string line, place = "a thread without Python";
    while (std::getline(lines, line)) {
        const size_t begin = line.find("File \""), end = line.find("\", line "), name = line.find(" in ", end);
        if (begin == std::string::npos || end == std::string::npos || is_of_libraries(line)) continue;
        const size_t file = begin + 6, number = end + 8;
        place = text(line.substr(file, end - file), ":", line.substr(number, name == std::string::npos ? name : name - number));
        break;
    }
    add_finding(text(what, ": ", place).c_str());
}

}  // namespace torch_aclnn::host
