/*
 * Images of sandboxes: inspect, pull from listed registries, and check their architecture.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_IMAGE_LOOKUP_H
#define DEFT_RUNTIME_DOCKER_IMAGE_LOOKUP_H

#include <jansson.h>

#include "base/attr.h"

struct docker;
struct error;
struct seen_image;

/* Ensures that the image is on this host (pulls it if allowed) and supports its architecture. */
int docker_check_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* On this host, or in its registry if images may be pulled; ERROR_NOT_FOUND. */
int docker_find_image(struct docker *docker, const char *image, struct seen_image *seen_out,
                      struct error *err) NONNULL MUST_CHECK;
/* The engine's details of an image on this host; a new reference. ERROR_NOT_FOUND. */
int docker_inspect_image(struct docker *docker, const char *image, json_t **facts_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Pulls it if its registry is listed. ERROR_NOT_FOUND. */
int docker_fetch_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* As above, if images may be pulled for sandboxes. */
int docker_pull_image(struct docker *docker, const char *image,
                      struct error *err) NONNULL MUST_CHECK;

#endif
