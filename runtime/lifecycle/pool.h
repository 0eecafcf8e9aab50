/*
 * The warm pool: sandboxes that run, dormant, before anybody asks for one. A start that fits moves
 * one to its own row under a single row lock and hands the key over; environment and names come
 * with that, so they never decide whether one fits. A thread of its own makes new ones, one at a
 * time, as many as recent starts ask for (demand.h), and removes what fits nobody any more.
 *
 * All there is stands in rows; a killed service finds its members again, and what it was making.
 *
 * Ownership: pool_free() after its thread has ended.
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_POOL_H
#define DEFT_RUNTIME_LIFECYCLE_POOL_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct kept_names;
struct pool;
struct runtime;
struct runtime_settings;
struct seen_list;
struct service;
struct start_spec;
struct strbuf;
struct warm_list;
struct warm_taker;

/* What the settings say is called so; one that is stored under this name counts in its place. */
#define POOL_DEFAULT_CONFIG "default"

struct pool *pool_new(const struct runtime_settings *settings) MUST_CHECK;
void pool_free(struct pool *pool);
/* The thread's body; returns after pool_stop(). */
void pool_run(struct service *service) NONNULL;
void pool_stop(struct pool *pool) NONNULL;
/* What should wait has changed. */
void pool_ask(struct pool *pool) NONNULL;

/* A member that fits, moved to a row of the taker's; notes that one was asked for either way.
 * ERROR_NOT_FOUND when there is none, else as of warm_store_claim(). */
int pool_claim(struct service *service, const struct start_spec *spec,
               const struct warm_taker *taker, struct runtime *runtime_out,
               struct error *err) NONNULL MUST_CHECK;

/* Removes members that the engine does not show as running, or whose image is another one by now.
 * `members` must have been listed before `seen`. */
void pool_judge(struct service *service, const struct warm_list *members,
                const struct seen_list *seen) NONNULL;
/* A container has ended: no-op unless it is a member's. */
void pool_lose(struct service *service, const char *id, const char *container_id) NONNULL;
/* True when there is such a member, or it cannot be known. */
bool pool_has(struct service *service, const char *id) NONNULL MUST_CHECK;
/* Adds what members keep. */
int pool_load_kept(struct service *service, struct kept_names *kept_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif
