/*
 * A lock for each runtime, and a bounded queue of starts. A thread holds the runtime's gate while
 * it changes the runtime; waiting for a start blocks here without polling.
 *
 * Ownership: gate_free() once no thread uses it.
 * Threading: any thread. The internal lock is never held during I/O.
 */
#ifndef DEFT_RUNTIME_CORE_GATE_H
#define DEFT_RUNTIME_CORE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct gate;

/* A runtime's id is 16 lower-case letters. */
#define RUNTIME_ID_BYTES 17

struct gate *gate_new(void) MUST_CHECK;
void gate_free(struct gate *gate);

/* A held gate: CLEANUP(gate_leave) struct gate_pass pass = gate_enter(gate, id); */
struct gate_pass {
    struct gate *gate;
    char id[RUNTIME_ID_BYTES];
};

/* Blocks until no other thread holds `id`, then acquires it. */
struct gate_pass gate_enter(struct gate *gate, const char *id) NONNULL MUST_CHECK;
void gate_leave(struct gate_pass *pass) NONNULL;
/* True if a thread holds `id` or its start is queued. */
bool gate_is_busy(struct gate *gate, const char *id) NONNULL MUST_CHECK;

/* Queues a start; no-op if one is already queued or in progress. ERROR_UNAVAILABLE if the queue is
 * full. */
int gate_queue_start(struct gate *gate, const char *id, struct error *err) NONNULL MUST_CHECK;
/* For starter threads: takes the next start; false once the gate is closed. */
bool gate_next_start(struct gate *gate, char id_out[RUNTIME_ID_BYTES]) NONNULL MUST_CHECK;
/* Ends a start taken with gate_next_start(), whether it succeeded or not. */
void gate_start_done(struct gate *gate, const char *id) NONNULL;
/* Waits until no start of `id` is queued or in progress; false at the deadline or if closed. */
bool gate_wait_start(struct gate *gate, const char *id, int64_t deadline_ms) NONNULL MUST_CHECK;
/* Waits until no start at all is queued or in progress, until the deadline, or until closed. */
void gate_wait_calm(struct gate *gate, int64_t deadline_ms) NONNULL;
/* Ends all waits for starts; called at shutdown. */
void gate_close(struct gate *gate) NONNULL;

#endif
