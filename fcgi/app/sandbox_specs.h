/*
 * Images that a sandbox may be made from: the one in the settings, and those that an administrator
 * keeps warm. A spec's id is its image.
 */
#ifndef DEFT_FCGI_APP_SANDBOX_SPECS_H
#define DEFT_FCGI_APP_SANDBOX_SPECS_H

#include "base/attr.h"
#include "base/strbuf.h"

struct error;
struct request;

/* Appends the image of a spec id; NULL or "" mean the first. ERROR_NOT_FOUND. */
int sandbox_spec_find(const struct request *request, const char *id, struct strbuf *image_out,
                      struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
