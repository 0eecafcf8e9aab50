/*
 * What a Dockerfile makes the engine fetch, in the host's network: the images that it names, and
 * addresses. Commands of RUN are not looked at: they run in a network of the build's own.
 *
 * Builders differ in what a line is (comments and empty lines within an instruction, heredocs, the
 * escape directive). So each line counts as an instruction that begins with a name of one, joined
 * with what may continue it, whether or not a builder would read it so: more may be refused than
 * would be fetched, never less. Pure; the work is bounded for any text.
 * Source: docs.docker.com/reference/dockerfile; moby/buildkit, frontend/dockerfile/parser.
 */
#ifndef DEFT_RUNTIME_BUILD_DOCKERFILE_H
#define DEFT_RUNTIME_BUILD_DOCKERFILE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

#define DOCKERFILE_MAX_BYTES (256UL * 1024)

/* Names without repeats, variables replaced. */
struct dockerfile_images {
    json_t *bases;  /* of FROM: their triggers (ONBUILD) are run */
    json_t *others; /* of COPY --from, RUN --mount and "# syntax=" */
};

/* clang-format off */
#define DOCKERFILE_IMAGES_INIT {NULL, NULL}
/* clang-format on */

void dockerfile_images_done(struct dockerfile_images *images);
/*
 * Lists what is fetched as an image. ERROR_INVALID, in words: something else is fetched (ADD of an
 * address), or what is cannot be told. The text may be one instruction, such as a trigger.
 */
int dockerfile_list_images(const char *text, size_t len, struct dockerfile_images *images_out,
                           struct error *err) NONNULL MUST_CHECK;

#endif
