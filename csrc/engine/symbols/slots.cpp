// The functions of the slots. Each loads the number of its slot and passes on what the caller gave it. The first phase has as many
// arguments as its entry point, so it hands over the registers and the stack as they are.

#include <atomic>

#include "engine/symbols/slots.h"

namespace torch_aclnn::host {

std::atomic<const AddedEntryPoint*> slots[kMaxAddedEntryPoints];

namespace {

// A symbol of a slot is known before what is in it only to who guesses its name.
const AddedEntryPoint* at_slot(uint64_t slot) noexcept {
    return slots[slot].load(std::memory_order_acquire);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclnnStatus torchAclnnFirstPhase(uint64_t slot, const RawArguments* registers, const uint64_t* stack) noexcept {
    const AddedEntryPoint* const added = at_slot(slot);
    return added != nullptr ? added->phase1(*added, *registers, stack) : ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
}

extern "C" aclnnStatus torchAclnnSecondPhase(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream,
                                             uint64_t slot) noexcept {
    const AddedEntryPoint* const added = at_slot(slot);
    return added != nullptr ? added->phase2(*added, workspace, workspaceSize, executor, stream) : ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
}

#define TORCH_ACLNN_TEXT_OF(number) #number
#define TORCH_ACLNN_TEXT(number) TORCH_ACLNN_TEXT_OF(number)

// The slot's number goes to `first` and `second`, in which no argument is.
#define TORCH_ACLNN_SLOTS(landing, first, second, jump) \
    ".altmacro\n"                                                                                                   \
    ".macro torch_aclnn_slot number\n"                                                                              \
    "    .globl " TORCH_ACLNN_FIRST_PHASE "\\number\n"                                                              \
    "    .type " TORCH_ACLNN_FIRST_PHASE "\\number, %function\n" TORCH_ACLNN_FIRST_PHASE "\\number:\n"              \
    "    " landing "\n    " first "\n    " jump " torchAclnnSaveArguments\n"                                        \
    "    .size " TORCH_ACLNN_FIRST_PHASE "\\number, . - " TORCH_ACLNN_FIRST_PHASE "\\number\n"                      \
    "    .globl " TORCH_ACLNN_SECOND_PHASE "\\number\n"                                                             \
    "    .type " TORCH_ACLNN_SECOND_PHASE "\\number, %function\n" TORCH_ACLNN_SECOND_PHASE "\\number:\n"            \
    "    " landing "\n    " second "\n    " jump " torchAclnnSecondPhase\n"                                         \
    "    .size " TORCH_ACLNN_SECOND_PHASE "\\number, . - " TORCH_ACLNN_SECOND_PHASE "\\number\n"                    \
    ".endm\n"                                                                                                       \
    ".set torch_aclnn_number, 0\n"                                                                                  \
    ".rept " TORCH_ACLNN_TEXT(TORCH_ACLNN_SLOT_COUNT) "\n"                                                          \
    "    torch_aclnn_slot %torch_aclnn_number\n"                                                                    \
    "    .set torch_aclnn_number, torch_aclnn_number + 1\n"                                                         \
    ".endr\n"                                                                                                       \
    ".noaltmacro\n"

// clang-format off
#if defined(__x86_64__)

asm(R"(
    .text
    .hidden torchAclnnFirstPhase
    .hidden torchAclnnSecondPhase
    .type torchAclnnSaveArguments, %function
torchAclnnSaveArguments:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $112, %rsp
    mov %rdi, (%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    movsd %xmm0, 48(%rsp)
    movsd %xmm1, 56(%rsp)
    movsd %xmm2, 64(%rsp)
    movsd %xmm3, 72(%rsp)
    movsd %xmm4, 80(%rsp)
    movsd %xmm5, 88(%rsp)
    movsd %xmm6, 96(%rsp)
    movsd %xmm7, 104(%rsp)
    mov %r11, %rdi
    mov %rsp, %rsi
    lea 16(%rbp), %rdx
    call torchAclnnFirstPhase
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size torchAclnnSaveArguments, . - torchAclnnSaveArguments
)" TORCH_ACLNN_SLOTS("endbr64", "mov $\\number, %r11d", "mov $\\number, %r8d", "jmp"));

#else

asm(R"(
    .text
    .hidden torchAclnnFirstPhase
    .hidden torchAclnnSecondPhase
    .type torchAclnnSaveArguments, %function
torchAclnnSaveArguments:
    .cfi_startproc
    stp x29, x30, [sp, #-144]!
    .cfi_def_cfa_offset 144
    .cfi_offset 29, -144
    .cfi_offset 30, -136
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp d0, d1, [sp, #80]
    stp d2, d3, [sp, #96]
    stp d4, d5, [sp, #112]
    stp d6, d7, [sp, #128]
    mov x0, x16
    add x1, sp, #16
    add x2, sp, #144
    bl torchAclnnFirstPhase
    ldp x29, x30, [sp], #144
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size torchAclnnSaveArguments, . - torchAclnnSaveArguments
)" TORCH_ACLNN_SLOTS("hint #34", "mov x16, #\\number", "mov x4, #\\number", "b"));

#endif
// clang-format on
