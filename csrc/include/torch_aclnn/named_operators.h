// The operators that the host engine runs by name, for tests and tools. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

// Writes up to `capacity` names of operators that aclopCompileAndExecute takes, in the order of the alphabet, and returns how many there
// are in the libraries of the engine that the process has loaded. A null `names` asks for their number alone. In libascendcl.so.
ACL_FUNC_VISIBILITY size_t torchAclnnHostNamedOperators(const char** names, size_t capacity);
