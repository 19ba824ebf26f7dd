// What has to be read before an instruction set is chosen: functions in here are compiled for any machine.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/jobs.h"
#include "kernels/scratch.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
