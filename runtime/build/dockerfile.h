/*
 * Lists what a Dockerfile makes the engine fetch in the host's network: images and URLs. RUN
 * commands are not examined: they run in a network of the build's own.
 *
 * Builders differ in how they split lines (comments and empty lines within an instruction,
 * heredocs, the escape directive). So each line that begins with an instruction's name counts as an
 * instruction, joined with all possible continuation lines, whether or not a builder would parse it
 * so: more may be refused than would be fetched, never less. Pure; the work is bounded for any
 * text.
 * Source: docs.docker.com/reference/dockerfile; moby/buildkit, frontend/dockerfile/parser.
 * Decision: docs/decisions/0021-image-builds.md
 */
#ifndef DEFT_RUNTIME_BUILD_DOCKERFILE_H
#define DEFT_RUNTIME_BUILD_DOCKERFILE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

#define DOCKERFILE_MAX_BYTES (256UL * 1024)

/* Names without duplicates, variables expanded. */
struct dockerfile_images {
    json_t *bases;  /* of FROM: their ONBUILD triggers are run */
    json_t *others; /* of COPY --from, RUN --mount and "# syntax=" */
};

/* clang-format off */
#define DOCKERFILE_IMAGES_INIT {NULL, NULL}
/* clang-format on */

void dockerfile_images_done(struct dockerfile_images *images);
/*
 * Lists the images that are fetched. ERROR_INVALID with a readable message: something else is
 * fetched (ADD of a URL), or a name cannot be determined. The text may be one instruction, such as
 * a trigger.
 */
int dockerfile_list_images(const char *text, size_t len, struct dockerfile_images *images_out,
                           struct error *err) NONNULL MUST_CHECK;

#endif
