/*
 * The warm pool: dormant sandboxes started in advance. A start of the same class moves one to its
 * own row under a single row lock and hands the key over; environment and names come with the key,
 * so they do not affect the match. A thread of its own starts new ones, one at a time, as many as
 * recent starts suggest (pool_sizing.h), and removes those no longer wanted.
 *
 * All state is in rows, so a killed service finds its members again, including one that was being
 * started.
 *
 * Ownership: warm_pool_free() after its thread has ended.
 * Threading: any thread.
 * Decision: docs/decisions/0018-warm-pool.md
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_WARM_POOL_H
#define DEFT_RUNTIME_LIFECYCLE_WARM_POOL_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct kept_names;
struct warm_pool;
struct runtime;
struct runtime_settings;
struct seen_list;
struct service;
struct start_spec;
struct strbuf;
struct warm_list;
struct warm_taker;

/* Name of the configuration from the settings; a stored one of this name replaces it. */
#define WARM_POOL_DEFAULT_CONFIG "default"

struct warm_pool *warm_pool_new(const struct runtime_settings *settings) MUST_CHECK;
void warm_pool_free(struct warm_pool *pool);
/* The thread's body; returns after warm_pool_stop(). */
void warm_pool_run(struct service *service) NONNULL;
void warm_pool_stop(struct warm_pool *pool) NONNULL;
/* Wakes the thread: the wanted members have changed. */
void warm_pool_wake(struct warm_pool *pool) NONNULL;

/* Moves a matching member to the taker's row; records the start for demand in any case.
 * ERROR_NOT_FOUND if none matches, else errors of warm_store_claim(). */
int warm_pool_claim(struct service *service, const struct start_spec *spec,
                    const struct warm_taker *taker, struct runtime *runtime_out,
                    struct error *err) NONNULL MUST_CHECK;

/* Removes members whose container is not running, or whose image name now resolves to another
 * image. `members` must have been listed before `seen`. */
void warm_pool_reconcile(struct service *service, const struct warm_list *members,
                         const struct seen_list *seen) NONNULL;
/* Removes the member whose container has ended; no-op if it is not a member's. */
void warm_pool_lose(struct service *service, const char *id, const char *container_id) NONNULL;
/* True if there is such a member, or if the database does not respond. */
bool warm_pool_has(struct service *service, const char *id) NONNULL MUST_CHECK;
/* Adds the networks and homes of members. */
int warm_pool_load_kept(struct service *service, struct kept_names *kept_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
