// Chooses the instruction set that the including file is compiled for, by the bytes of a vector. The headers above the pragma define
// functions of which the linker keeps one for all files, so they are compiled for every machine. What follows the pragma is in a namespace
// of its own for each instruction set.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/support/axis_table.h"
#include "kernels/support/loop.h"
#include "kernels/support/scratch.h"
#include "kernels/support/view.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(KERNEL_VECTOR_BYTES)
#error "vector.cpp files are compiled once for each instruction set, with KERNEL_VECTOR_BYTES=16, 32 or 64"
#elif KERNEL_VECTOR_BYTES == 64
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define KERNEL_ISA avx512
#elif KERNEL_VECTOR_BYTES == 32
#pragma GCC target("avx2,f16c")
#define KERNEL_ISA avx2
#else
#define KERNEL_ISA baseline  // SSE2 on x86-64, NEON on aarch64
#endif
