/*
 * Validation errors of a client's input, as entries of the wire's 422 body: {"type", "loc", "msg",
 * "input"[, "ctx"]}. Values that look like secrets are never returned.
 *
 * Ownership: places form a linked list on the stack; the list of problems is a json_t array.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SCHEMA_PROBLEM_H
#define DEFT_MODEL_SCHEMA_PROBLEM_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* A position in the input: a member by name, or an element by index if name is NULL. */
struct place {
    const struct place *parent;
    const char *name;
    json_int_t index;
};

struct problem {
    const char *type; /* "missing" */
    const char *msg;  /* "Field required" */
    json_t *ctx;      /* ownership is taken; NULL if none */
};

/* Appends an entry; input is copied with its secrets hidden, NULL becomes null. */
void problem_add(json_t *problems, const struct place *place, const struct problem *problem,
                 json_t *input) __attribute__((nonnull(1, 2, 3)));
/* As problem_add(), for an entry of type value_error with this message. */
void problem_add_value(json_t *problems, const struct place *place, const char *words,
                       json_t *input) __attribute__((nonnull(1, 2, 3)));
/* Appends an entry as "content.0.text: Field required"; a leading "body" is left out. */
void problem_append_text(json_t *problem, struct strbuf *out) NONNULL;

/* Returns a deep copy for clients and logs, with values that look like secrets replaced. */
json_t *redact_copy(json_t *value) NONNULL MUST_CHECK;
/* True if a member of that name holds a secret: api_key, GITHUB_TOKEN, … */
bool redact_is_secret_name(const char *name) NONNULL MUST_CHECK;

#endif
