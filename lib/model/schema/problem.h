/*
 * What is wrong with a client's input, entry by entry, in the form of the wire's 422 body:
 * {"type", "loc", "msg", "input"[, "ctx"]}. Values that look secret never come back.
 *
 * Ownership: a place is a link of a chain on the stack; the list of problems is a json_t array.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SCHEMA_PROBLEM_H
#define DEFT_MODEL_SCHEMA_PROBLEM_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* Where in the input: a member by name, or an element by index where name is NULL. */
struct place {
    const struct place *parent;
    const char *name;
    json_int_t index;
};

struct problem {
    const char *type; /* "missing" */
    const char *msg;  /* "Field required" */
    json_t *ctx;      /* taken over; NULL when there is none */
};

/* Appends an entry; input is copied with its secrets hidden, NULL counts as null. */
void problem_add(json_t *problems, const struct place *place, const struct problem *problem,
                 json_t *input) __attribute__((nonnull(1, 2, 3)));
/* As problem_add() for an entry of type value_error with these words. */
void problem_add_value(json_t *problems, const struct place *place, const char *words,
                       json_t *input) __attribute__((nonnull(1, 2, 3)));
/* Appends "content.0.text: Field required" of one entry; the leading "body" is left out. */
void problem_append_text(json_t *problem, struct strbuf *out) NONNULL;

/* A deep copy for clients and logs, with values that look secret replaced. A new reference. */
json_t *redact_copy(json_t *value) NONNULL MUST_CHECK;
/* True when a member of that name holds a secret: api_key, GITHUB_TOKEN, … */
bool redact_is_secret_name(const char *name) NONNULL MUST_CHECK;

#endif
