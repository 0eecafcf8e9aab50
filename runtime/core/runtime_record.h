/*
 * Helpers for a runtime's row, used by the thread that holds the runtime's lock.
 *
 * Ownership: the row owns its texts.
 * Threading: any thread that holds the runtime's lock.
 */
#ifndef DEFT_RUNTIME_CORE_RUNTIME_RECORD_H
#define DEFT_RUNTIME_CORE_RUNTIME_RECORD_H

#include <stdbool.h>

#include "base/attr.h"
#include "store/runtime/runtime_store.h"

struct error;
struct keyring;
struct sandbox_endpoint;
struct service;

#define RUNTIME_RECORD_KEY_CONTEXT_BYTES 64
#define RUNTIME_RECORD_ID_BYTES 17

/* A new id: 16 lower-case letters. */
void runtime_record_make_id(char id[RUNTIME_RECORD_ID_BYTES]) NONNULL;
/* Replaces a text of the row with a copy; "" and NULL clear it. */
void runtime_record_set_text(char **field, const char *text) __attribute__((nonnull(1)));
/* The sealing context of the runtime's session key. */
void runtime_record_key_context(const char *id,
                                char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES]) NONNULL;
/* The address and keys of its server. ERROR_INTERNAL if the keys cannot be opened. */
int runtime_record_open_endpoint(const struct runtime *runtime, const struct keyring *keyring,
                                 struct sandbox_endpoint *endpoint_out,
                                 struct error *err) NONNULL MUST_CHECK;
/* True if it has no container and none is about to be created. */
bool runtime_record_has_no_container(const struct runtime *runtime) NONNULL MUST_CHECK;
/* Clears its container, network and address. */
void runtime_record_clear_container(struct runtime *runtime) NONNULL;
/*
 * Stores the row with another status and detail (or NULL): the only place that changes a status.
 * ERROR_CONFLICT if the stored status is not the row's; then the row is unchanged.
 */
int runtime_record_change_status(struct service *service, struct runtime *runtime,
                                 enum runtime_status next, const char *detail, struct error *err)
    __attribute__((nonnull(1, 2, 5))) MUST_CHECK;

#endif
