/*
 * A container engine at its socket: replies as a test says, and keeps what it was asked.
 *
 * Ownership: fake_engine_stop() frees it; replies are borrowed until then.
 * Threading: a thread for each connection; all functions from any thread.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_DOCKER_FAKE_ENGINE_H
#define DEFT_TESTS_UNIT_RUNTIME_DOCKER_FAKE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct fake_engine;

struct engine_reply {
    const char *request; /* "GET /info": the beginning of method and path, without the version */
    int status;          /* 0: 200 */
    const char *body;    /* NULL: none */
    size_t len;          /* 0: up to the NUL */
    size_t n_times;      /* 0: always */
    bool is_held;        /* the connection stays open after the body, until either end goes */
};

struct fake_engine *fake_engine_start(void) MUST_CHECK;
void fake_engine_stop(struct fake_engine *engine);
const char *fake_engine_socket(const struct fake_engine *engine) NONNULL MUST_CHECK;

/* The last reply that was added for a request counts; without one it is 404. */
void fake_engine_add(struct fake_engine *engine, const struct engine_reply *reply) NONNULL;
/* A status and body for all such requests. */
void fake_engine_set(struct fake_engine *engine, const char *request, int status, const char *body)
    __attribute__((nonnull(1, 2)));
/* Closes the connections that are held. */
void fake_engine_release(struct fake_engine *engine) NONNULL;

/*
 * What was asked since the last fake_engine_forget(), "METHOD /path;…" without the version 1.41.
 * Borrowed until the next such call; only while no request is under way.
 */
const char *fake_engine_asked(struct fake_engine *engine) NONNULL MUST_CHECK;
void fake_engine_forget(struct fake_engine *engine) NONNULL;
size_t fake_engine_n_connections(struct fake_engine *engine) NONNULL MUST_CHECK;
size_t fake_engine_count(struct fake_engine *engine, const char *request) NONNULL MUST_CHECK;
/* Waits until n such requests came; false after a minute. */
bool fake_engine_wait(struct fake_engine *engine, const char *request, size_t n) NONNULL MUST_CHECK;
/* The body of the last such request; "" without one. As fake_engine_asked(). */
const char *fake_engine_body(struct fake_engine *engine, const char *request, size_t *len_out)
    __attribute__((nonnull(1, 2))) MUST_CHECK;

#endif
