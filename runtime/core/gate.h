/*
 * One at a time per runtime, and starts in a bounded queue: whoever changes a runtime holds its
 * gate; whoever waits for a start waits here, without looking again and again.
 *
 * Ownership: gate_free() when no thread uses it any more.
 * Threading: any thread. The lock inside is never held over I/O.
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

/* Holding a runtime's gate: CLEANUP(gate_leave) struct gate_pass pass = gate_enter(gate, id); */
struct gate_pass {
    struct gate *gate;
    char id[RUNTIME_ID_BYTES];
};

/* Waits until nobody else holds `id`, and takes it. */
struct gate_pass gate_enter(struct gate *gate, const char *id) NONNULL MUST_CHECK;
void gate_leave(struct gate_pass *pass) NONNULL;
/* True when somebody holds `id` or its start is queued. */
bool gate_is_busy(struct gate *gate, const char *id) NONNULL MUST_CHECK;

/* Queues a start; one that is queued or under way already is left alone. ERROR_UNAVAILABLE when
 * the queue is full. */
int gate_queue_start(struct gate *gate, const char *id, struct error *err) NONNULL MUST_CHECK;
/* For the starter threads: the next start, false when the gate is closed. */
bool gate_next_start(struct gate *gate, char id_out[RUNTIME_ID_BYTES]) NONNULL MUST_CHECK;
/* The start taken with gate_next_start() is over, whatever came of it. */
void gate_start_done(struct gate *gate, const char *id) NONNULL;
/* Waits until no start of `id` is queued or under way; false at the deadline or when closed. */
bool gate_wait_start(struct gate *gate, const char *id, int64_t deadline_ms) NONNULL MUST_CHECK;
/* Waits until no start at all is queued or under way, to the deadline or until closed. */
void gate_wait_calm(struct gate *gate, int64_t deadline_ms) NONNULL;
/* Ends all waiting for starts; for the end of the process. */
void gate_close(struct gate *gate) NONNULL;

#endif
