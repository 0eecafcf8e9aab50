/*
 * Python cells: one process that stays between cells, started with the first one. Needs python3 in
 * the image, but no packages.
 *
 * Ownership: struct python_repl owns its process.
 * Threading: the loop's thread. The answer comes from the loop, never from python_repl_run().
 */
#ifndef DEFT_SANDBOX_LEGACY_PYTHON_REPL_H
#define DEFT_SANDBOX_LEGACY_PYTHON_REPL_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct python_repl;

struct python_cell {
    const char *code;
    const char *working_dir; /* the process changes to it when it differs from the last one */
    double timeout_s;        /* after which the cell is interrupted */
};

/* Borrowed until the callee returns. */
struct python_result {
    const char *content; /* its output, plus a message if it did not end by itself */
    const char *python;  /* path of the interpreter */
    json_t *images;      /* data URLs; NULL: none */
};

struct python_answer {
    void *owner;
    void (*done)(void *owner, const struct python_result *result);
};

struct python_repl *python_repl_new(struct event_loop *loop,
                                    const char *workspace) NONNULL MUST_CHECK;
/* Ends the process; a pending cell is never answered. */
void python_repl_free(struct python_repl *repl);
/* Starts a cell; none may be running. ERROR_NOT_FOUND if there is no Python, ERROR_UNAVAILABLE. */
int python_repl_run(struct python_repl *repl, const struct python_cell *call,
                    const struct python_answer *answer, struct error *err) NONNULL MUST_CHECK;

#endif
