/*
 * Why a sandbox failed to start or ended, as a message for users and a reason for programs: a table
 * of messages of engines and programs. Pure.
 */
#ifndef DEFT_RUNTIME_BACKEND_FAILURE_REASON_H
#define DEFT_RUNTIME_BACKEND_FAILURE_REASON_H

#include <stddef.h>

#include "base/attr.h"

/* Indexes of reasons are below this. */
#define FAILURE_REASONS_MAX 40

/* The message for users; NULL if the engine's or program's is clear by itself. A constant. */
const char *failure_reason_explain(const char *said) NONNULL MUST_CHECK;
/* The reason in a runtime's detail, such as "OOMKilled"; NULL if there is none. */
const char *failure_reason_find(const char *detail) NONNULL MUST_CHECK;

/* The index of the reason in a detail; that of "Other" if there is none. */
size_t failure_reason_index(const char *detail) NONNULL MUST_CHECK;
/* The reason with that index; NULL if unused. A constant. */
const char *failure_reason_at(size_t index) MUST_CHECK;

#endif
