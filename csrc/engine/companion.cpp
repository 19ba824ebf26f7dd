// A library that torch_npu names but that has nothing of its own here. It needs libascendcl.so, where the loader and dlsym go on to look.

extern "C" __attribute__((visibility("default"))) const char torchAclnnHostCompanion[] = "see libascendcl.so";
