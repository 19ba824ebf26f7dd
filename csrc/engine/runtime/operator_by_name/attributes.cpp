// aclopAttr: attributes are kept by their names, and a later value takes the place of an earlier one.

#include "engine/runtime/operator_by_name/operator_call.h"

#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

namespace {

template <class Value>
aclError set_attribute(const char* function, aclopAttr* attr, const char* attrName, const Value& value) {
    return guarded(function, [&] {
        require_pointer("attr", attr);
        require_pointer("attrName", attrName);
        attr->values.insert_or_assign(attrName, Attribute(value()));
    });
}

template <class Stored, class Given>
std::vector<Stored> read_list(const char* name, int count, const Given* values) {
    if (count < 0) refuse(ACL_ERROR_INVALID_PARAM, "numValues", "at least 0", std::to_string(count));
    if (count > 0) require_pointer(name, values);
    return std::vector<Stored>(values, values + count);
}

template <class Stored, class Given>
aclError set_list(const char* function, aclopAttr* attr, const char* attrName, int numValues, const Given* values) {
    return set_attribute(function, attr, attrName, [&] { return read_list<Stored>("values", numValues, values); });
}

}  // namespace

extern "C" {

TORCH_ACLNN_HOST_API aclopAttr* aclopCreateAttr(void) {
    aclopAttr* attr = nullptr;
    guarded(__func__, [&] { attr = new aclopAttr; });
    return attr;
}

TORCH_ACLNN_HOST_API void aclopDestroyAttr(const aclopAttr* attr) {
    delete attr;
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
    return set_attribute(__func__, attr, attrName, [&] { return attrValue != 0; });
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
    return set_attribute(__func__, attr, attrName, [&] { return attrValue; });
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
    return set_attribute(__func__, attr, attrName, [&] { return attrValue; });
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
    return set_attribute(__func__, attr, attrName, [&] {
        require_pointer("attrValue", attrValue);
        return std::string(attrValue);
    });
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
    return set_attribute(__func__, attr, attrName, [&] { return attrValue; });
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues, const uint8_t* values) {
    return set_list<unsigned char>(__func__, attr, attrName, numValues, values);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values) {
    return set_list<int64_t>(__func__, attr, attrName, numValues, values);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues, const float* values) {
    return set_list<float>(__func__, attr, attrName, numValues, values);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists, const int* numValues,
                                                      const int64_t* const* values) {
    return set_attribute(__func__, attr, attrName, [&] {
        const std::vector<int> counts = read_list<int>("numValues", numLists, numValues);
        const std::vector<const int64_t*> lists = read_list<const int64_t*>("values", numLists, values);
        std::vector<std::vector<int64_t>> read;
        for (size_t i = 0; i < counts.size(); ++i) read.push_back(read_list<int64_t>("values", counts[i], lists[i]));
        return read;
    });
}

}  // extern "C"
