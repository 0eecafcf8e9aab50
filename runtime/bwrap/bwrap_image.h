/*
 * The default image, the only one that this back end has: a tree of files, or the host's.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_BWRAP_IMAGE_H
#define DEFT_RUNTIME_BWRAP_BWRAP_IMAGE_H

#include "base/attr.h"

struct bwrap_host;
struct error;

/* ERROR_UNSUPPORTED with a readable message for any image but the default. */
int bwrap_image_check(const struct bwrap_host *host, const char *image,
                      struct error *err) NONNULL MUST_CHECK;
/* Identifies the default image's files. */
const char *bwrap_image_id(const struct bwrap_host *host) NONNULL MUST_CHECK;

#endif
