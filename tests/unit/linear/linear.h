/*
 * Whether a function's work grows with its input and no faster: the processor time of this thread
 * over inputs of one length and of ten times that. Other programs of the machine do not count, and
 * the best of several runs is taken.
 * Decision: docs/decisions/0049-linear-time.md
 */
#ifndef DEFT_TESTS_UNIT_LINEAR_H
#define DEFT_TESTS_UNIT_LINEAR_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct linear_function {
    const char *name;
    void (*run)(const char *text, size_t len); /* text is NUL-terminated */
    const char *const *inputs;                 /* ends with NULL; see below */
    size_t short_bytes; /* of the shorter input; 0: 100 KB. Less for functions that refuse more than
                           a limit, or take long for each byte */
    int64_t plain_ns_per_byte; /* what the longer input may take whatever the ratio; 0: the usual */
};

/* Enough for most functions: a quadratic walk over its tenfold takes a second or more. */
#define LINEAR_FEW_BYTES 20000
/* For functions that make objects of what they read: the longer input's do not fit into the
 * processor's caches, and each takes twice as long. */
#define LINEAR_OBJECTS LINEAR_FEW_BYTES, 1000

/*
 * Runs of one byte, of lines, of words, of brackets and quotes that do not close, of separators, of
 * what almost is a keyword, of escapes, of bytes that are no UTF-8.
 */
extern const char *const linear_any_text[];

/* For main(). */
void linear_setup(void);
/*
 * Fails the test if an input's tenfold takes more than twelve times as long; reports each such
 * input. An input is "head|unit|tail": the unit is repeated up to the length.
 */
void linear_check(const struct linear_function *functions, size_t n) NONNULL;

#endif
