/*
 * What a sandbox may be made of: the image of the settings, and those that an administrator keeps
 * waiting. A spec's id is its image.
 */
#ifndef DEFT_FCGI_APP_SANDBOX_SPECS_H
#define DEFT_FCGI_APP_SANDBOX_SPECS_H

#include "base/attr.h"
#include "base/strbuf.h"

struct error;
struct request;

/* Appends the image that is meant by an id, NULL or "" being the first. ERROR_NOT_FOUND. */
int sandbox_spec_find(const struct request *request, const char *id, struct strbuf *image_out,
                      struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
