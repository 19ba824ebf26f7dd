// FOR_EACH(macro, a, b, c) expands to: macro a, macro b, macro c. The arguments are parenthesised lists.
#pragma once

#define TORCH_ACLNN_PARENS ()
#define TORCH_ACLNN_EXPAND(...) TORCH_ACLNN_EXPAND4(TORCH_ACLNN_EXPAND4(__VA_ARGS__))  // enough for 80 arguments
#define TORCH_ACLNN_EXPAND4(...) TORCH_ACLNN_EXPAND3(TORCH_ACLNN_EXPAND3(TORCH_ACLNN_EXPAND3(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND3(...) TORCH_ACLNN_EXPAND2(TORCH_ACLNN_EXPAND2(TORCH_ACLNN_EXPAND2(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND2(...) TORCH_ACLNN_EXPAND1(TORCH_ACLNN_EXPAND1(TORCH_ACLNN_EXPAND1(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND1(...) __VA_ARGS__

// A macro cannot call itself. Each step therefore names the next one without calling it, and each of the expansions above resolves one step
// more.
#define TORCH_ACLNN_FOR_EACH(macro, ...) __VA_OPT__(TORCH_ACLNN_EXPAND(TORCH_ACLNN_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define TORCH_ACLNN_FOR_EACH_STEP(macro, first, ...) \
    macro first __VA_OPT__(, TORCH_ACLNN_FOR_EACH_AGAIN TORCH_ACLNN_PARENS(macro, __VA_ARGS__))
#define TORCH_ACLNN_FOR_EACH_AGAIN() TORCH_ACLNN_FOR_EACH_STEP
