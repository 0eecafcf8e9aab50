/*
 * Builds images through the engine, in a network of the build's own, and removes built images.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_IMAGE_BUILD_H
#define DEFT_RUNTIME_DOCKER_IMAGE_BUILD_H

#include "base/attr.h"
#include "runtime/backend/backend.h"

struct docker;
struct error;
struct strbuf;

/* Builds and names the image; said: gets the end of the builder's output, also after a failure. */
int docker_build_image(struct docker *docker, const struct image_build_request *order,
                       char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said,
                       struct error *err) NONNULL MUST_CHECK;
/* Ends the running build and refuses later ones. */
void docker_stop_building(struct docker *docker) NONNULL;
/* Removes the name, and the image with its last name; success if it does not exist. */
int docker_remove_image(struct docker *docker, const char *image,
                        struct error *err) NONNULL MUST_CHECK;
/* Removes a step of a failed build: it has no name and would fill up the disk. Keeps named ones. */
void docker_remove_step(struct docker *docker, const char *image) NONNULL;
int docker_remove_images(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

#endif
