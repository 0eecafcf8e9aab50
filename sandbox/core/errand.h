/*
 * Work of an action that blocks, done by a copy of the process while the loop goes on; what it
 * finds comes back as JSON. Like a job (job.h), but nobody's hanging up ends it.
 *
 * Ownership: an errand is its caller's until it is told, or errand_free().
 * Threading: the loop's thread; the work is alone in a process of its own.
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
    json_t *(*work)(const void *what); /* a new reference; runs in the copy */
    const void *what;                  /* as it is when the errand starts */
    int64_t deadline_ms;
    /*
     * Called once, from the loop: with what the work found (a new reference), or NULL and why.
     * The errand is over then.
     */
    void (*told)(void *owner, json_t *found, const struct error *why);
    void *owner;
};

int errand_start(struct loop *loop, const struct errand_order *order, struct errand **errand_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Ends it: it is told with ERROR_CANCELLED. */
void errand_interrupt(struct errand *errand) NONNULL;
/* Ends it and tells nobody; NULL is fine. */
void errand_free(struct errand *errand);

#endif
