/*
 * Words of the shell that analyzers know: programs by what they do, and options.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_SECURITY_SHELL_WORDS_H
#define DEFT_MODEL_SECURITY_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

enum shell_word_list {
    SHELL_PROGRAMS,     /* run a text as commands */
    SHELL_INTERPRETERS, /* of other languages; with a version at the end, too */
    SHELL_KEYWORDS,     /* a command follows them */
    SHELL_FETCHERS,
    SHELL_N_WORD_LISTS,
};

/* A program that runs the one that its operands name. */
struct shell_wrapper {
    const char *name;
    const char *valued; /* letters of options whose value is the next word */
    size_t n_operands;  /* before the program */
};

/* True if the list has the word. */
bool shell_words_has(enum shell_word_list list, const char *word, size_t len) NONNULL MUST_CHECK;
/* The wrapper of that name, or NULL. Static storage. */
const struct shell_wrapper *shell_wrapper_find(const char *word, size_t len) NONNULL MUST_CHECK;
/* The program's name without its folder, of which *len_inout becomes the length. */
const char *shell_program_name(const char *word, size_t *len_inout) NONNULL MUST_CHECK;
/* True for the long option, a start of it, or a cluster with the letter in either case. */
bool shell_option_has(const char *option, size_t len, char letter,
                      const char *long_name) NONNULL MUST_CHECK;

#endif
