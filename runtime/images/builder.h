/*
 * Builds images one at a time in a thread of its own; the queue is short, further requests are
 * refused. A row contains each build's status; builds that were interrupted by the service's end
 * are marked as failed. The thread also removes expired images.
 *
 * Ownership: builder_free() after the thread has ended.
 * Threading: any thread.
 * Decision: docs/decisions/0021-image-builds.md
 */
#ifndef DEFT_RUNTIME_IMAGES_BUILDER_H
#define DEFT_RUNTIME_IMAGES_BUILDER_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/uuid.h"

struct builder;
struct error;
struct image_build;
struct service;
struct strbuf;

struct builder *builder_new(void) MUST_CHECK;
void builder_free(struct builder *builder);
/* The thread's body; returns after builder_stop(). */
void builder_run(struct service *service) NONNULL;
void builder_stop(struct service *service) NONNULL;

/* Makes the thread check for images to remove: a key may have been revoked, or a container that
 * used one may have ended. */
void builder_ask(struct builder *builder) NONNULL;

/* A slot in the queue, held from before a context is read until its build ends. */
struct build_place {
    struct builder *builder; /* NULL: no slot */
    struct uuid tenant_id;
};

/* ERROR_RATE_LIMITED while all slots, or all slots of the tenant, are taken. */
int builder_take_place(struct builder *builder, const struct uuid *tenant_id,
                       struct build_place *place_out, struct error *err) NONNULL MUST_CHECK;
void build_place_leave(struct build_place *place) NONNULL;
/* Queues a stored build; takes over the slot, the build's texts and the context's bytes. */
void builder_queue(struct build_place *place, struct image_build *build,
                   struct strbuf *context) NONNULL;

#endif
