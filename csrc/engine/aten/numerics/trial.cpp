#include "engine/aten/numerics/trial.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <limits>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

constexpr size_t kRemembered = size_t{1} << 15, kProbes = 64;
static std::array<std::atomic<uint64_t>, kRemembered> remembered;  // 0 is a free place

// Returns the place that has the signature, or the first free one of those where it may be; null where neither is found.
static std::atomic<uint64_t>* place_of(uint64_t signature) {
    for (size_t i = 0; i < kProbes; ++i) {
        std::atomic<uint64_t>& place =
            remembered[(signature / 2 + i) % kRemembered];  // signatures are odd, so half of one spreads over all places
        const uint64_t found = place.load(std::memory_order_relaxed);
        if (found == signature || found == 0) return &place;
    }
    return nullptr;
}

// ATen uses these words for data types.
static bool speaks_of_types(std::string_view message) {
    constexpr std::string_view kWords[] = {
        "type",       "not implemented for", "romot",          "oolean",       "bool",
        "ool input",  "ntegral input",       "floating point", "omplex",       "float tensor",
        "int tensor", "tensors but got",     "did not match",  "tensor input",
    };
    return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) { return message.find(word) != message.npos; });
}

static bool is_of_a_number(std::string_view message) {
    return message.find("value cannot be converted to type") == 0;
}

uint64_t type_signature(const at::Scalar& number) {
    const uint64_t type = 1 + static_cast<uint64_t>(number.type());
    if (number.isComplex()) return type;
    const double value = number.toDouble();
    constexpr double kLargest[] = {127, 255, 32767, 65504, 2147483647, 9.2e18, 3.4e38, std::numeric_limits<double>::max()};
    const auto* const holds = std::find_if(std::begin(kLargest), std::end(kLargest), [&](double most) { return std::abs(value) <= most; });
    return type + 64 * (static_cast<uint64_t>(holds - std::begin(kLargest)) + (std::isnan(value) ? 1 : 0));
}

bool is_known(uint64_t signature) {
    const std::atomic<uint64_t>* const place = place_of(signature);
    return place != nullptr && place->load(std::memory_order_relaxed) == signature;
}

void remember(uint64_t signature) {
    std::atomic<uint64_t>* place;
    uint64_t free = 0;
    while ((place = place_of(signature)) != nullptr && !place->compare_exchange_weak(free, signature) && free != signature) free = 0;
}

void try_types(const std::function<std::string()>& names, const std::function<void()>& refuse_number,
               const std::function<void()>& compute) {
    try {
        compute();
    } catch (const c10::IndexError&) {
    } catch (const c10::LinAlgError&) {
    } catch (const c10::Error& error) {
        const std::string message = error.what_without_backtrace();
        if (speaks_of_types(message)) refuse(names(), "data types that the operator has", message);
    } catch (const Error& error) {
        if (error.code() == ACLNN_ERR_PARAM_INVALID && speaks_of_types(error.what())) throw;
    } catch (const std::exception& error) {
        if (is_of_a_number(error.what())) refuse_number();
        // The error says nothing about the data types.
    }
}

}  // namespace torch_aclnn::host::aten
