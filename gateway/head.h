/*
 * The head of an HTTP/1.1 request as text: its target, and its headers by name.
 *
 * Source: RFC 9112, sections 3 and 5.
 */
#ifndef DEFT_GATEWAY_HEAD_H
#define DEFT_GATEWAY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct strbuf;

/* Appends the decoded path, without the query; false if the request is not a GET of a path. */
bool head_path(const char *head, struct strbuf *out) NONNULL MUST_CHECK;
/* Appends the decoded value of a query parameter; false when there is none. */
bool head_query(const char *head, const char *name, struct strbuf *out) NONNULL MUST_CHECK;
/* Appends a header's value; false when there is none. If it is repeated, the first one counts. */
bool head_header(const char *head, const char *name, struct strbuf *out) NONNULL MUST_CHECK;
/* How often the header occurs. */
size_t head_count(const char *head, const char *name) NONNULL MUST_CHECK;

#endif
