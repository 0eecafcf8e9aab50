/*
 * Variables in a Dockerfile's names of images: the values that ARG gives them, and all names that a
 * text with variables may mean. A name whose value depends on how a builder reads the file is
 * refused.
 *
 * Ownership: dockerfile_variables_done() releases the values.
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BUILD_DOCKERFILE_VARIABLES_H
#define DEFT_RUNTIME_BUILD_DOCKERFILE_VARIABLES_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

struct dockerfile_variables {
    json_t *early;       /* ARGs before the first FROM: name → list of values */
    json_t *late;        /* ARGs after it, likewise */
    size_t n_expansions; /* expanded variables so far */
};

/* Of an ARG: before or after the first FROM. */
enum dockerfile_position { DOCKERFILE_EARLY, DOCKERFILE_LATE };

void dockerfile_variables_init(struct dockerfile_variables *variables) NONNULL;
void dockerfile_variables_done(struct dockerfile_variables *variables) NONNULL;
/* NAME=value of an ARG: adds one of the name's possible values. */
void dockerfile_variables_add(struct dockerfile_variables *variables,
                              enum dockerfile_position position, const char *word) NONNULL;
/*
 * All texts that `text` may mean in FROM, with variables expanded and quotes removed: a new list.
 * ERROR_INVALID with a readable message if they cannot be determined.
 */
int dockerfile_expand(struct dockerfile_variables *variables, const char *text,
                      json_t **meanings_out, struct error *err) NONNULL MUST_CHECK;

#endif
