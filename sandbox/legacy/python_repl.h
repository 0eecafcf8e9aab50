/*
 * Python cells: one process that stays between cells, started with the first one. Needs python3 in
 * the image, but no packages.
 *
 * Ownership: struct cells owns its process.
 * Threading: the loop's thread. The answer comes from the loop, never from cells_run().
 */
#ifndef DEFT_SANDBOX_LEGACY_CELL_H
#define DEFT_SANDBOX_LEGACY_CELL_H

#include <jansson.h>

#include "base/attr.h"

struct cells;
struct error;
struct loop;

struct cell_call {
    const char *code;
    const char *working_dir; /* the process changes to it when it differs from the last one */
    double timeout_s;        /* after which the cell is interrupted */
};

/* Borrowed until the callee returns. */
struct cell_result {
    const char *content; /* its output, plus a message if it did not end by itself */
    const char *python;  /* path of the interpreter */
    json_t *images;      /* data URLs; NULL: none */
};

struct cell_answer {
    void *owner;
    void (*done)(void *owner, const struct cell_result *result);
};

struct cells *cells_new(struct loop *loop, const char *workspace) NONNULL MUST_CHECK;
/* Ends the process; a pending cell is never answered. */
void cells_free(struct cells *cells);
/* Starts a cell; none may be running. ERROR_NOT_FOUND if there is no Python, ERROR_UNAVAILABLE. */
int cells_run(struct cells *cells, const struct cell_call *call, const struct cell_answer *answer,
              struct error *err) NONNULL MUST_CHECK;

#endif
