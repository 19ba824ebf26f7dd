// The file that aclInit is given.
#pragma once

namespace torch_aclnn::host {

// Takes over the default device, if the file names one. A null or empty path is no file; an unreadable file is refused.
void apply_configuration_file(const char* path);

}  // namespace torch_aclnn::host
