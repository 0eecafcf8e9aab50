/*
 * The value of the header Host, for requests that are written or signed here: it must be that which
 * libcurl sends.
 *
 * Source: RFC 9110, sections 4.2 and 7.2.
 */
#ifndef DEFT_CLIENT_HOST_HEADER_H
#define DEFT_CLIENT_HOST_HEADER_H

#include "base/attr.h"
#include "base/strbuf.h"

/* Appends the host of an http or https URL, and its port unless that is the scheme's own. The URL
 * has no user information. */
void host_header_append(struct strbuf *out, const char *url) NONNULL;

#endif
