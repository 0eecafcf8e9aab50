/*
 * A runtime's row in the hands of whoever holds its gate.
 *
 * Ownership: the row's texts are its own.
 * Threading: any thread that holds the runtime's gate.
 */
#ifndef DEFT_RUNTIME_CORE_ROW_H
#define DEFT_RUNTIME_CORE_ROW_H

#include <stdbool.h>

#include "base/attr.h"
#include "store/runtime/runtime_store.h"

struct error;
struct keyring;
struct sandbox_endpoint;
struct service;

#define ROW_KEY_CONTEXT_BYTES 64
#define ROW_ID_BYTES 17

/* A new id: 16 lower-case letters. */
void row_make_id(char id[ROW_ID_BYTES]) NONNULL;
/* Replaces a text of the row by a copy; "" and NULL leave none. */
void row_set_text(char **field, const char *text) __attribute__((nonnull(1)));
/* What the runtime's session key is sealed for. */
void row_key_context(const char *id, char context[ROW_KEY_CONTEXT_BYTES]) NONNULL;
/* Where its server listens, and its keys. ERROR_INTERNAL when these cannot be opened. */
int row_open_endpoint(const struct runtime *runtime, const struct keyring *keyring,
                      struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* True when it has no container, nor is about to have one. */
bool row_is_at_rest(const struct runtime *runtime) NONNULL MUST_CHECK;
/* It has no container, network and address any more. */
void row_forget_place(struct runtime *runtime) NONNULL;
/*
 * Stores the row with another status, and words or NULL: the only place that changes a status.
 * ERROR_CONFLICT when the stored one is not what it was; then the row is as it was.
 */
int row_change_status(struct service *service, struct runtime *runtime, enum runtime_status next,
                      const char *detail, struct error *err)
    __attribute__((nonnull(1, 2, 5))) MUST_CHECK;

#endif
