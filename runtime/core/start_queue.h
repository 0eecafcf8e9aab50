/*
 * A bounded queue of runtimes to start. Waiting for a start blocks here without polling.
 *
 * Ownership: start_queue_free() once no thread uses it.
 * Threading: any thread. The internal lock is never held during I/O.
 */
#ifndef DEFT_RUNTIME_CORE_START_QUEUE_H
#define DEFT_RUNTIME_CORE_START_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/core/id_set.h"

struct error;
struct start_queue;

struct start_queue *start_queue_new(void) MUST_CHECK;
void start_queue_free(struct start_queue *queue);

/* Queues a start; no-op if one is already queued or in progress. ERROR_UNAVAILABLE if the queue is
 * full. */
int start_queue_add(struct start_queue *queue, const char *id,
                    struct error *err) NONNULL MUST_CHECK;
/* For starter threads: takes the next start; false once the queue is closed. */
bool start_queue_take(struct start_queue *queue, char id_out[RUNTIME_ID_BYTES]) NONNULL MUST_CHECK;
/* Ends a start taken with start_queue_take(), whether it succeeded or not. */
void start_queue_finish(struct start_queue *queue, const char *id) NONNULL;
/* True if a start of `id` is queued or in progress. */
bool start_queue_has(struct start_queue *queue, const char *id) NONNULL MUST_CHECK;
/* Waits until no start of `id` is queued or in progress; false at the deadline or if closed. */
bool start_queue_wait(struct start_queue *queue, const char *id,
                      int64_t deadline_ms) NONNULL MUST_CHECK;
/* Waits until no start at all is queued or in progress, until the deadline, or until closed. */
void start_queue_wait_empty(struct start_queue *queue, int64_t deadline_ms) NONNULL;
/* Ends all waits for starts; called at shutdown. */
void start_queue_close(struct start_queue *queue) NONNULL;

#endif
