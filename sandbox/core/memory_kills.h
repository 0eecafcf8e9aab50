/*
 * How often the kernel ended a program of this sandbox because its memory was used up.
 */
#ifndef DEFT_SANDBOX_CORE_MEMORY_KILLS_H
#define DEFT_SANDBOX_CORE_MEMORY_KILLS_H

#include <stdint.h>

#include "base/attr.h"

/* Since the sandbox began; 0 where the kernel does not tell. Both layouts of control groups. */
int64_t memory_kills(void) MUST_CHECK;

#endif
