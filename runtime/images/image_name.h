/*
 * The names of images that are built here: below a prefix of their tenant's, so that nobody names
 * another one's; and where others come from.
 */
#ifndef DEFT_RUNTIME_IMAGES_IMAGE_NAME_H
#define DEFT_RUNTIME_IMAGES_IMAGE_NAME_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct service;
struct strbuf;
struct tenant;

/* Appends what the tenant's names begin with, "host/path"; tenant NULL: of deft's own processes. */
void image_name_append_prefix(const struct service *service, const struct tenant *tenant,
                              struct strbuf *prefix) __attribute__((nonnull(1, 3)));
/* ERROR_INVALID unless all are names below that prefix. */
int image_name_check_own(const struct service *service, const struct tenant *tenant,
                         const json_t *names, struct error *err)
    __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* ERROR_NOT_FOUND, as for an image that is not there, for one that another tenant built. */
int image_name_check_use(const struct service *service, const struct tenant *tenant,
                         const char *image, struct error *err)
    __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

/*
 * ERROR_INVALID for an image that a build would fetch from a registry that is not listed, and that
 * is not on this host; also for one that another tenant built.
 */
int image_name_check_source(struct service *service, const struct tenant *tenant, const char *image,
                            struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
