// aclopAttr: attributes are kept by their names, and a later value takes the place of an earlier one.

#include "engine/runtime/operator_by_name/operator_call.h"

#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

static aclError set_attribute(const char* function, aclopAttr* attr, const char* attrName, const auto& value) {
    return guarded(function, [&] {
        require_pointer("attr", attr);
        require_pointer("attrName", attrName);
        attr->values.insert_or_assign(attrName, Attribute(value()));
    });
}

template <class Stored, class Given>
static std::vector<Stored> read_list(const char* name, int count, const Given* values) {
    if (count < 0) refuse(ACL_ERROR_INVALID_PARAM, "numValues", "at least 0", std::to_string(count));
    if (count > 0) require_pointer(name, values);
    return std::vector<Stored>(values, values + count);
}

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

#define SET_NUMBER(Kind, Value)                                                                                \
    TORCH_ACLNN_HOST_API aclError aclopSetAttr##Kind(aclopAttr* attr, const char* attrName, Value attrValue) { \
        return set_attribute(__func__, attr, attrName, [&] { return attrValue; });                             \
    }
SET_NUMBER(Int, int64_t)
SET_NUMBER(Float, float)
SET_NUMBER(DataType, aclDataType)

#define SET_LIST(Kind, Stored, Given)                                                                                                 \
    TORCH_ACLNN_HOST_API aclError aclopSetAttrList##Kind(aclopAttr* attr, const char* attrName, int numValues, const Given* values) { \
        return set_attribute(__func__, attr, attrName, [&] { return read_list<Stored>("values", numValues, values); });               \
    }
SET_LIST(Bool, unsigned char, uint8_t)
SET_LIST(Int, int64_t, int64_t)
SET_LIST(Float, float, float)

TORCH_ACLNN_HOST_API aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
    return set_attribute(__func__, attr, attrName, [&] {
        require_pointer("attrValue", attrValue);
        return std::string(attrValue);
    });
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
