/*
 * Why a sandbox does not start, or has ended, in words for a person and by a name for programs: a
 * table of what engines and programs say. Pure.
 */
#ifndef DEFT_RUNTIME_FAILURE_H
#define DEFT_RUNTIME_FAILURE_H

#include "base/attr.h"

/* Our words for what an engine or a program said; NULL when it speaks for itself. Lives for ever.
 */
const char *failure_words(const char *said) NONNULL MUST_CHECK;
/* The name of the reason that stands in a runtime's detail, such as "OOMKilled"; NULL for none. */
const char *failure_reason(const char *detail) NONNULL MUST_CHECK;

#endif
