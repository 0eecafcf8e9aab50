/*
 * Hints between processes: "look again". Never authoritative: a process that misses one finds the
 * change by its periodic poll.
 *
 * A process's main thread owns one `struct hints`, with one connection for LISTEN and another for
 * sending; other threads only queue. Sending uses asynchronous commit and is coalesced: the first
 * hint goes at once, those of the next 10 ms go together.
 * Threading: hints_send() from any thread; all others from the main thread.
 * Decision: docs/decisions/0005-hint-pump-on-main.md
 */
#ifndef DEFT_STORE_DB_HINTS_H
#define DEFT_STORE_DB_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct hints;

#define HINT_KINDS(X)                                                                              \
    X(HINT_EVENTS, "deft_events")   /* a conversation has new events or a new snapshot version */  \
    X(HINT_WORK, "deft_work")       /* a conversation wants a run, or a job is due */              \
    X(HINT_CONTROL, "deft_control") /* a running conversation was asked to stop */                 \
    X(HINT_RUNTIME, "deft_runtime") /* a runtime's desired state has changed */                    \
    X(HINT_CALLERS, "deft_callers") /* a key or session is no longer valid: its id */              \
    X(HINT_PROGRESS, "deft_progress") /* lines of model/event/progress.h rather than ids */

#define X(constant, text) constant,
enum hint_kind { HINT_KINDS(X) HINT_N_KINDS };
#undef X

/* A notification's payload must be less than 8000 bytes. */
#define HINT_LINE_MAX_BYTES 7900

/* kinds: bit set of 1U << HINT_… to listen to; 0 for a process that only sends. */
int hints_open(const char *url, const char *application, unsigned kinds, struct hints **hints_out,
               struct error *err) NONNULL MUST_CHECK;
/* Sends what is queued first. */
void hints_free(struct hints *hints);

/* Queues a hint; never blocks, never fails. */
void hints_send(struct hints *hints, enum hint_kind kind, const char *id) NONNULL;
/*
 * Queues a line of HINT_PROGRESS; without a newline, at most HINT_LINE_MAX_BYTES. Lines keep their
 * order and are sent before hints queued after them. They are dropped when more than 256 KiB are
 * queued.
 */
void hints_send_line(struct hints *hints, const char *line) NONNULL;
/* The channel of a kind. A constant. */
const char *hint_channel(enum hint_kind kind) MUST_CHECK;

/*
 * Descriptors to wait on for reading: [0] something is queued, or it is time to send; [1] the
 * LISTEN connection, or -1 while it is down. Call again before each wait.
 */
void hints_fds(struct hints *hints, int fds_out[2]) NONNULL;
/*
 * Sends what is due and reconnects what broke (at most once a second). Call when a descriptor is
 * readable and at least every second.
 */
void hints_pump(struct hints *hints) NONNULL;
/*
 * Takes the next received hint; false when there is none. After a reconnect there is one hint with
 * the id "" for each listened kind: anything may have changed.
 */
bool hints_next(struct hints *hints, enum hint_kind *kind_out, char id_out[64]) NONNULL MUST_CHECK;

/*
 * For a main thread that does nothing else: pumps until a signalfd for SIGTERM and SIGINT (made by
 * the caller, signals blocked before the first thread) is readable.
 */
int hints_run(struct hints *hints, int stop_fd, struct error *err) NONNULL MUST_CHECK;

#endif
