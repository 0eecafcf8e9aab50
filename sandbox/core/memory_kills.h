/*
 * Count of programs in this sandbox that the kernel killed for lack of memory.
 */
#ifndef DEFT_SANDBOX_CORE_MEMORY_KILLS_H
#define DEFT_SANDBOX_CORE_MEMORY_KILLS_H

#include <stdint.h>

#include "base/attr.h"

/* Since the sandbox started; 0 where the kernel does not report it. Reads both cgroup versions. */
int64_t memory_kills(void) MUST_CHECK;

#endif
