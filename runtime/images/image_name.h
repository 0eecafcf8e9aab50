/*
 * Names of images built here have a prefix of their tenant, so that no tenant can use another's
 * names. Also checks the source of other images.
 */
#ifndef DEFT_RUNTIME_IMAGES_IMAGE_NAME_H
#define DEFT_RUNTIME_IMAGES_IMAGE_NAME_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct service;
struct strbuf;
struct tenant;

/* Appends the prefix of the tenant's names, "host/path"; tenant NULL: of deft's own processes. */
void image_name_append_prefix(const struct service *service, const struct tenant *tenant,
                              struct strbuf *prefix) __attribute__((nonnull(1, 3)));
/* ERROR_INVALID unless all names have that prefix. */
int image_name_check_own(const struct service *service, const struct tenant *tenant,
                         const json_t *names, struct error *err)
    __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* ERROR_NOT_FOUND, as for a missing image, for one that another tenant built. */
int image_name_check_use(const struct service *service, const struct tenant *tenant,
                         const char *image, struct error *err)
    __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

/*
 * ERROR_INVALID for an image of an unlisted registry, unless it is on this host and not another
 * tenant's.
 */
int image_name_check_source(struct service *service, const struct tenant *tenant, const char *image,
                            struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
