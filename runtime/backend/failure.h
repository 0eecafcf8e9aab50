/*
 * Why a sandbox does not start, or has ended, in words for a person and by a name for programs: a
 * table of what engines and programs say. Pure.
 */
#ifndef DEFT_RUNTIME_BACKEND_FAILURE_H
#define DEFT_RUNTIME_BACKEND_FAILURE_H

#include <stddef.h>

#include "base/attr.h"

/* Reasons have numbers below this, for counting. */
#define FAILURE_REASONS_MAX 40

/* Our words for what an engine or a program said; NULL when it speaks for itself. Lives for ever.
 */
const char *failure_words(const char *said) NONNULL MUST_CHECK;
/* The name of the reason that stands in a runtime's detail, such as "OOMKilled"; NULL for none. */
const char *failure_reason(const char *detail) NONNULL MUST_CHECK;

/* The number of the reason that stands in a detail; that of "Other" where none does. */
size_t failure_index(const char *detail) NONNULL MUST_CHECK;
/* The name of that number; NULL where a number has none. Lives for ever. */
const char *failure_reason_at(size_t index) MUST_CHECK;

#endif
