/*
 * Builds of images, one after the other on a thread of its own: few wait, the rest are told to come
 * again. A row says how each is; what a service that ends leaves unfinished has failed, in words.
 * The thread also removes images that shall go.
 *
 * Ownership: builder_free() after the thread has ended.
 * Threading: any thread.
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

/* Has images looked for that shall go: a key may have been revoked, or a container that used one
 * has ended. */
void builder_ask(struct builder *builder) NONNULL;

/* A place in the queue, from before a context is read until its build is over. */
struct build_place {
    struct builder *builder; /* NULL: none is held */
    struct uuid tenant_id;
};

/* ERROR_RATE_LIMITED while all places are taken, or all that a tenant may have. */
int builder_take_place(struct builder *builder, const struct uuid *tenant_id,
                       struct build_place *place_out, struct error *err) NONNULL MUST_CHECK;
void build_place_leave(struct build_place *place) NONNULL;
/* Queues a stored build; takes its place, the build's texts and the context's bytes over. */
void builder_queue(struct build_place *place, struct image_build *build,
                   struct strbuf *context) NONNULL;

#endif
