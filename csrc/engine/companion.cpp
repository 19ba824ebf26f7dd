// A library that torch_npu names but that has nothing of its own here. It is only the name: it needs libascendcl.so, and the
// loader and dlsym go on to look there.

extern "C" __attribute__((visibility("default"))) const char torchAclnnHostCompanion[] = "see libascendcl.so";
