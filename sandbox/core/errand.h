/*
 * Blocking work of an action, done by a fork of the process while the loop continues; the result
 * comes back as JSON. Like a job (job.h), but a client that disconnects does not end it.
 *
 * Ownership: an errand is its caller's until `told` is called, or errand_free().
 * Threading: the loop's thread; the work runs alone in its own process.
 */
#ifndef DEFT_SANDBOX_CORE_ERRAND_H
#define DEFT_SANDBOX_CORE_ERRAND_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct errand;
struct error;
struct loop;

struct errand_order {
    json_t *(*work)(const void *what); /* a new reference; runs in the fork */
    const void *what;                  /* as it is when the errand starts */
    int64_t deadline_ms;
    /*
     * Called once, from the loop: with the result of the work (a new reference), or NULL and the
     * error. The errand is freed then.
     */
    void (*told)(void *owner, json_t *found, const struct error *why);
    void *owner;
};

int errand_start(struct loop *loop, const struct errand_order *order, struct errand **errand_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Kills the work: `told` is called with ERROR_CANCELLED. */
void errand_interrupt(struct errand *errand) NONNULL;
/* Kills the work without calling `told`; NULL is allowed. */
void errand_free(struct errand *errand);

#endif
