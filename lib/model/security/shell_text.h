/*
 * Texts that hold commands and wait to be read: one within another, so not by recursion.
 *
 * Ownership: shell_texts_done() releases the list and the copies in it; other texts are borrowed.
 * Threading: one thread.
 */
#ifndef DEFT_MODEL_SECURITY_SHELL_TEXT_H
#define DEFT_MODEL_SECURITY_SHELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct shell_text {
    const char *text;
    size_t len;
    char *owned; /* text, if it is a copy */
    size_t depth;
    bool is_run;    /* its output is run */
    bool is_quiet;  /* maybe arithmetic, so an unknown program may be a variable */
    bool is_quoted; /* data in which only substitutions are commands */
};

struct shell_texts {
    struct shell_text *items;
    size_t n;
    size_t size;
};

/* Takes over text->owned. */
void shell_texts_add(struct shell_texts *texts, const struct shell_text *text) NONNULL;
/* The output of the texts from the number on is run. */
void shell_texts_set_run(struct shell_texts *texts, size_t first) NONNULL;
void shell_texts_done(struct shell_texts *texts);

/* The length of the commands from `at` to the bracket that ends them, or to the end. */
size_t shell_substitution_length(const char *at, const char *end) NONNULL MUST_CHECK;

#endif
