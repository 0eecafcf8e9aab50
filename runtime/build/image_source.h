/*
 * Determines the registry of an image that is not on this host. Only registries on the
 * administrator's list are contacted, so that no client can make the engine probe services of the
 * host or its networks. Pure.
 */
#ifndef DEFT_RUNTIME_BUILD_IMAGE_SOURCE_H
#define DEFT_RUNTIME_BUILD_IMAGE_SOURCE_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

/* Public registries; none is an IP address. */
#define IMAGE_SOURCE_DEFAULT                                                                       \
    "docker.io ghcr.io quay.io gcr.io registry.k8s.io mcr.microsoft.com public.ecr.aws"            \
    " registry.gitlab.com registry.access.redhat.com nvcr.io lscr.io"

/* Appends the registry of an image's name in lower case: "docker.io" if it names none. */
void image_source_append(const char *image, struct strbuf *registry) NONNULL;
/* registries: separated by blanks or commas. */
bool image_source_is_listed(const char *registries, const char *image) NONNULL MUST_CHECK;

#endif
