/*
 * Validation errors of a client's input, as entries of the wire's 422 body: {"type", "loc", "msg",
 * "input"[, "ctx"]}. Values that look like secrets are never returned.
 *
 * Ownership: paths form a linked list on the stack; the list of problems is a json_t array.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SCHEMA_VALIDATION_ERROR_H
#define DEFT_MODEL_SCHEMA_VALIDATION_ERROR_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* A position in the input: a member by name, or an element by index if name is NULL. */
struct json_path {
    const struct json_path *parent;
    const char *name;
    json_int_t index;
};

struct validation_error {
    const char *type; /* "missing" */
    const char *msg;  /* "Field required" */
    json_t *ctx;      /* ownership is taken; NULL if none */
};

/* Appends an entry; input is copied with its secrets hidden, NULL becomes null. */
void validation_error_add(json_t *problems, const struct json_path *path,
                          const struct validation_error *problem, json_t *input)
    __attribute__((nonnull(1, 2, 3)));
/* As validation_error_add(), for an entry of type value_error with this message. */
void validation_error_add_value(json_t *problems, const struct json_path *path, const char *words,
                                json_t *input) __attribute__((nonnull(1, 2, 3)));
/* Appends an entry as "content.0.text: Field required"; a leading "body" is left out. */
void validation_error_append_text(json_t *problem, struct strbuf *out) NONNULL;

/* Returns a deep copy for clients and logs, with values that look like secrets replaced. */
json_t *redact_copy(json_t *value) NONNULL MUST_CHECK;
/* True if a member of that name holds a secret: api_key, GITHUB_TOKEN, … */
bool redact_is_secret_name(const char *name) NONNULL MUST_CHECK;

#endif
