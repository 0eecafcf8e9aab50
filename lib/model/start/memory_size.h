/*
 * Sizes of memory as clients write them.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_START_MEMORY_SIZE_H
#define DEFT_MODEL_START_MEMORY_SIZE_H

#include <stdint.h>

#include "base/attr.h"

/* Parses "512m", "4g", "2GiB" into bytes; 0 if the text has no such form. */
int64_t memory_size_bytes(const char *text) NONNULL MUST_CHECK;

#endif
