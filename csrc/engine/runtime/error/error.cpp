#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

void refuse(int code, const std::string& parameter, const std::string& expected, const std::string& got) {
    throw Error(code, parameter + ": expected " + expected + ", got " + got);
}

}  // namespace torch_aclnn::host
