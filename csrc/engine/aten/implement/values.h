// The arguments of a call as an implementation gets them (torch_aclnn/implement.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/DimVector.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "torch_aclnn/implement.h"

namespace torch_aclnn::host::aten {

torchAclnnTensor shown(const at::Tensor& tensor);
torchAclnnNumber shown(const at::Scalar& number);

// One argument, with the memory that its torchAclnnValue refers to.
class ShownValue {
   public:
    // In its last place, for the addresses are kept.
    torchAclnnValue value(const char* name) const {
        return {name, kind_, is_list_, count_, tensors_.data(), numbers_.data(), kind_ == TORCH_ACLNN_TEXT ? text_.c_str() : nullptr};
    }

    void put(const at::Tensor& tensor) { put_all(std::vector<at::Tensor>{tensor}, false); }
    void put(const std::vector<at::Tensor>& tensors) { put_all(tensors, true); }
    void put(aclDataType dtype) {
        put(static_cast<int64_t>(dtype));
        kind_ = TORCH_ACLNN_DATA_TYPE;
    }
    void put(const std::string& text) {
        kind_ = TORCH_ACLNN_TEXT;
        count_ = 1;
        text_ = text;
    }
    void put(const at::Scalar& number) { put_all(std::vector<at::Scalar>{number}, false); }
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    void put(Number number) {
        put(scalar(number));
    }
    void put(const std::vector<unsigned char>& values) { put_all(std::vector<bool>(values.begin(), values.end()), true); }
    void put(const at::DimVector& values) { put_all(values, true); }
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number> || std::is_same_v<Number, at::Scalar>>>
    void put(const std::vector<Number>& values) {
        put_all(values, true);
    }
    template <class Value>
    void put(const std::optional<Value>& value) {
        put_absent<Value>();
        if (value) put(*value);
    }
    void put_absent(torchAclnnValueKind kind) { kind_ = kind; }

   private:
    static at::Scalar scalar(const at::Scalar& number) { return number; }
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    static at::Scalar scalar(Number number) {
        if constexpr (std::is_same_v<Number, bool> || std::is_floating_point_v<Number>)
            return number;
        else
            return static_cast<int64_t>(number);
    }
    template <class Value>
    void put_absent() {
        constexpr bool is_tensors = std::is_same_v<Value, at::Tensor> || std::is_same_v<Value, std::vector<at::Tensor>>;
        put_absent(is_tensors ? TORCH_ACLNN_TENSORS : std::is_same_v<Value, std::string> ? TORCH_ACLNN_TEXT : TORCH_ACLNN_NUMBERS);
    }

    void put_all(const std::vector<at::Tensor>& tensors, bool is_list) {
        kind_ = TORCH_ACLNN_TENSORS;
        is_list_ = is_list;
        count_ = static_cast<int64_t>(tensors.size());
        for (const at::Tensor& tensor : tensors) tensors_.push_back(shown(tensor));
    }
    template <class Values>
    void put_all(const Values& values, bool is_list) {
        kind_ = TORCH_ACLNN_NUMBERS;
        is_list_ = is_list;
        count_ = static_cast<int64_t>(values.size());
        for (const auto& value : values) numbers_.push_back(shown(scalar(value)));
    }

    torchAclnnValueKind kind_ = TORCH_ACLNN_NUMBERS;
    int is_list_ = 0;
    int64_t count_ = -1;
    std::vector<torchAclnnTensor> tensors_;
    std::vector<torchAclnnNumber> numbers_;
    std::string text_;
};

}  // namespace torch_aclnn::host::aten
