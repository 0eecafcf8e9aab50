/*
 * Whether a function's work grows with its input and no faster: the processor time of this thread
 * over inputs of one length and of ten times that. Other programs of the machine do not count, and
 * the best of several runs is taken.
 */
#ifndef DEFT_TESTS_UNIT_LINEAR_H
#define DEFT_TESTS_UNIT_LINEAR_H

#include <stddef.h>

#include "base/attr.h"

struct linear_function {
    const char *name;
    void (*run)(const char *text, size_t len); /* text is NUL-terminated */
    const char *const *inputs;                 /* ends with NULL; see below */
};

/*
 * The number of inputs whose tenfold takes more than twelve times as long; each is reported. An
 * input is "head|unit|tail": the unit is repeated up to the length.
 */
int linear_check(const struct linear_function *function) NONNULL MUST_CHECK;

#endif
