/*
 * Calls to a Docker engine's API over its Unix socket.
 *
 * Ownership: the caller owns replies.
 * Threading: a struct engine is read-only after initialization; the transport is shared.
 * Source:    Docker Engine API v1.41
 */
#ifndef DEFT_RUNTIME_DOCKER_ENGINE_H
#define DEFT_RUNTIME_DOCKER_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct http;
struct http_call;
struct strbuf;

struct engine {
    struct http *http;
    const char *socket;
    const char *version; /* API version, such as "1.41" */
};

/* A call with an optional JSON body. */
struct engine_request {
    const char *method;
    const char *path; /* including the query, without the version */
    const json_t *body;
    int64_t timeout_ms; /* 0: 30 s */
};

/*
 * Waits for the response; *reply_out (may be NULL) is its JSON, or NULL if it is empty. A status of
 * 400 or above is an error with the engine's message: 404 ERROR_NOT_FOUND, 409 ERROR_CONFLICT, 400
 * and 403 ERROR_INVALID, others ERROR_INTERNAL; ERROR_UNAVAILABLE or ERROR_TIMEOUT without a
 * response.
 */
int engine_call(const struct engine *engine, const struct engine_request *request,
                json_t **reply_out, struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/* PUTs an archive into a container's folder. */
int engine_put_archive(const struct engine *engine, const char *path, const struct strbuf *archive,
                       struct error *err) NONNULL MUST_CHECK;
/* POSTs an archive as an image; the response is a stream of objects, one may contain an error. */
int engine_load_image(const struct engine *engine, const char *path, const struct strbuf *archive,
                      struct error *err) NONNULL MUST_CHECK;
/* Starts a GET with a streamed response; timeout_ms: for the whole call, 0: none. */
int engine_stream(const struct engine *engine, const char *path, int64_t timeout_ms,
                  struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
/* Starts a POST of an archive, sent by http_call_write(), with a streamed response. */
int engine_stream_archive(const struct engine *engine, const char *path, size_t len,
                          int64_t timeout_ms, struct http_call **call_out,
                          struct error *err) NONNULL MUST_CHECK;
/* Appends "filters={"label":["name=value"]}", percent-encoded. */
void engine_append_label_filter(struct strbuf *path, const char *name, const char *value) NONNULL;

#endif
