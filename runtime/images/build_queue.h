/*
 * Builds images one at a time in a thread of its own; the queue is short, further requests are
 * refused. A row contains each build's status; builds that were interrupted by the service's end
 * are marked as failed. The thread also removes expired images.
 *
 * Ownership: build_queue_free() after the thread has ended.
 * Threading: any thread.
 * Decision: docs/decisions/0021-image-builds.md
 */
#ifndef DEFT_RUNTIME_IMAGES_BUILD_QUEUE_H
#define DEFT_RUNTIME_IMAGES_BUILD_QUEUE_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/uuid.h"

struct build_queue;
struct error;
struct image_build;
struct service;
struct strbuf;

struct build_queue *build_queue_new(void) MUST_CHECK;
void build_queue_free(struct build_queue *build_queue);
/* The thread's body; returns after build_queue_stop(). */
void build_queue_run(struct service *service) NONNULL;
void build_queue_stop(struct service *service) NONNULL;

/* Makes the thread check for images to remove: a key may have been revoked, or a container that
 * used one may have ended. */
void build_queue_wake(struct build_queue *build_queue) NONNULL;

/* A slot in the queue, held from before a context is read until its build ends. */
struct build_slot {
    struct build_queue *build_queue; /* NULL: no slot */
    struct uuid tenant_id;
};

/* ERROR_RATE_LIMITED while all slots, or all slots of the tenant, are taken. */
int build_queue_take_slot(struct build_queue *build_queue, const struct uuid *tenant_id,
                          struct build_slot *place_out, struct error *err) NONNULL MUST_CHECK;
void build_slot_release(struct build_slot *place) NONNULL;
/* Queues a stored build; takes over the slot, the build's texts and the context's bytes. */
void build_queue_add(struct build_slot *place, struct image_build *build,
                     struct strbuf *context) NONNULL;

#endif
