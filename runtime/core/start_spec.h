/*
 * A start request: read from the HTTP request, stored in the runtime's row, and read from the row
 * when the sandbox is resumed.
 *
 * Ownership: start_spec_done() releases a struct's members.
 * Source: the Runtime API's POST /start; wait_ms, is_doubted, owner_id, conversation_id,
 * memory_bytes and nano_cpus are deft's own.
 */
#ifndef DEFT_RUNTIME_CORE_START_SPEC_H
#define DEFT_RUNTIME_CORE_START_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "runtime/backend/backend.h"
#include "store/runtime/runtime_key_store.h"

struct error;
struct keyring;

#define WAIT_MAX_MS 120000
#define SESSION_ID_MAX_BYTES 200

struct start_spec {
    char *session_id;
    char *tenant_session; /* the tenant's name for it; NULL for deft's own */
    struct tenant tenant; /* id unset: deft's own */
    char *image;
    char *working_dir;
    char *conversation_id;
    json_t *command;     /* stored and shown only; the sandbox runs deft-action */
    json_t *environment; /* object with text values */
    struct uuid owner_id;
    int64_t memory_bytes; /* 0: the default */
    int64_t nano_cpus;    /* 0: the default */
    int64_t wait_ms;
    bool is_doubted;               /* the caller got no response from the sandbox */
    bool keeps_image;              /* a request with another image does not replace it */
    char home[BACKEND_NAME_BYTES]; /* from the row only */
};

/* Maximum resources of a request, and defaults for what it omits. */
struct start_spec_limits {
    const char *image;
    int64_t memory_bytes;
    int64_t nano_cpus;
    int64_t max_memory_bytes;
    int64_t max_nano_cpus;
};

/* clang-format off */
#define START_SPEC_INIT {.session_id = NULL}
/* clang-format on */

void start_spec_done(struct start_spec *spec) NONNULL;
/* ERROR_INVALID names the member and the problem; a NULL request is not an object either. */
int start_spec_read(json_t *request, const struct start_spec_limits *limits,
                    struct start_spec *spec_out, struct error *err)
    __attribute__((nonnull(2, 3, 4))) MUST_CHECK;
/* ERROR_INVALID if `image` is not a valid image name. */
int start_spec_check_image(const char *image, struct error *err) NONNULL MUST_CHECK;
/* For the row: the environment is sealed with context "runtimes.environment:<runtime id>". */
json_t *start_spec_to_row(const struct start_spec *spec, const struct keyring *keyring,
                          const char *runtime_id, struct error *err) NONNULL MUST_CHECK;
int start_spec_from_row(json_t *row, const struct keyring *keyring, const char *runtime_id,
                        struct start_spec *spec_out, struct error *err) NONNULL MUST_CHECK;

#endif
