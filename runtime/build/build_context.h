/*
 * Finds the Dockerfile of a build context as the engine will read it: the regular file of that name
 * at the root of the archive. Archives in which another entry could replace it are refused (links,
 * names in extended headers, files below links). Pure.
 * Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar.
 */
#ifndef DEFT_RUNTIME_BUILD_BUILD_CONTEXT_H
#define DEFT_RUNTIME_BUILD_BUILD_CONTEXT_H

#include <stdint.h>

#include "base/attr.h"

struct dockerfile_images;
struct error;
struct strbuf;

/*
 * Reads a gzipped archive and lists the images that its Dockerfile refers to, as
 * dockerfile_list_images() does. ERROR_TOO_LARGE if it unpacks to more than max_bytes,
 * ERROR_INVALID if it is no such archive or its Dockerfile cannot be determined.
 */
int build_context_list_images(const struct strbuf *context, int64_t max_bytes,
                              struct dockerfile_images *images_out,
                              struct error *err) NONNULL MUST_CHECK;

#endif
