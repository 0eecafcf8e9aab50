/*
 * Where an image comes from that is not on this host: only registries on the administrator's list
 * are asked, so that no client makes the engine look at what listens on the host or beside it.
 * Pure.
 */
#ifndef DEFT_RUNTIME_BUILD_IMAGE_SOURCE_H
#define DEFT_RUNTIME_BUILD_IMAGE_SOURCE_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

/* Public ones; none of them is an address. */
#define IMAGE_SOURCE_DEFAULT                                                                       \
    "docker.io ghcr.io quay.io gcr.io registry.k8s.io mcr.microsoft.com public.ecr.aws"            \
    " registry.gitlab.com registry.access.redhat.com nvcr.io lscr.io"

/* Appends the registry of an image's name, in lower case: "docker.io" where it names none. */
void image_source_append(const char *image, struct strbuf *registry) NONNULL;
/* registries: separated by blanks. */
bool image_source_is_listed(const char *registries, const char *image) NONNULL MUST_CHECK;

#endif
