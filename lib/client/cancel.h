/*
 * Ends another thread's HTTP calls, and its waits between them: the one that runs, and each later
 * one at its start.
 *
 * Ownership: the caller's, until cancel_done(); calls are borrowed from cancel_enter() to
 * cancel_leave().
 * Threading: cancel_set() from any thread; all others from the thread that makes the calls.
 */
#ifndef DEFT_CLIENT_CANCEL_H
#define DEFT_CLIENT_CANCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/lock.h"

struct error;
struct http_call;

struct cancel {
    struct lock lock;          /* guards what follows */
    struct condition changed;  /* is_set */
    struct http_call *current; /* NULL: none */
    bool is_set;
};

void cancel_init(struct cancel *cancel) NONNULL;
void cancel_done(struct cancel *cancel) NONNULL;
void cancel_set(struct cancel *cancel) NONNULL;
/* Lets calls start again. */
void cancel_reset(struct cancel *cancel) NONNULL;
/*
 * Makes a call the one that cancel_set() ends; NULL: none. After cancel_set() ERROR_CANCELLED, and
 * the call is ended.
 */
int cancel_enter(struct cancel *cancel, struct http_call *call, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;
void cancel_leave(struct cancel *cancel) NONNULL;
/* Waits that long. ERROR_CANCELLED, at once, after cancel_set(). */
int cancel_wait(struct cancel *cancel, int64_t ms, struct error *err) NONNULL MUST_CHECK;

#endif
