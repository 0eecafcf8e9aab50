/*
 * What a start asks for: read from the request, kept in the runtime's row, read from there again
 * when the sandbox is resumed.
 *
 * Ownership: start_spec_done() releases what a struct holds.
 * Source: the Runtime API's POST /start; wait_ms, is_doubted, owner_id, conversation_id,
 * memory_bytes and nano_cpus are deft's own.
 */
#ifndef DEFT_RUNTIME_CORE_SPEC_H
#define DEFT_RUNTIME_CORE_SPEC_H

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
    char *tenant_session; /* what a tenant calls it; NULL for our own */
    struct tenant tenant; /* id unset: our own */
    char *image;
    char *working_dir;
    char *conversation_id;
    json_t *command;     /* kept and shown; deft-action runs, not it */
    json_t *environment; /* object of texts */
    struct uuid owner_id;
    int64_t memory_bytes; /* 0: the default */
    int64_t nano_cpus;    /* 0: the default */
    int64_t wait_ms;
    bool is_doubted;               /* the caller found nobody there */
    bool keeps_image;              /* another image's name does not replace it */
    char home[BACKEND_NAME_BYTES]; /* from the row only */
};

/* What a request may not exceed, and what is taken where it says nothing. */
struct spec_limits {
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
/* ERROR_INVALID names the member and what is wrong with it; request: NULL is no object either. */
int start_spec_read(json_t *request, const struct spec_limits *limits, struct start_spec *spec_out,
                    struct error *err) __attribute__((nonnull(2, 3, 4))) MUST_CHECK;
/* ERROR_INVALID for what can be no image's name. */
int start_spec_check_image(const char *image, struct error *err) NONNULL MUST_CHECK;
/* As it is kept: the environment sealed with context "runtimes.environment:<runtime id>". */
json_t *start_spec_to_row(const struct start_spec *spec, const struct keyring *keyring,
                          const char *runtime_id, struct error *err) NONNULL MUST_CHECK;
int start_spec_from_row(json_t *row, const struct keyring *keyring, const char *runtime_id,
                        struct start_spec *spec_out, struct error *err) NONNULL MUST_CHECK;

#endif
