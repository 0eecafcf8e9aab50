/*
 * The page shown to a browser instead of an answer that is not HTTP.
 */
#ifndef DEFT_GATEWAY_PREVIEW_ERROR_PAGE_H
#define DEFT_GATEWAY_PREVIEW_ERROR_PAGE_H

#include "base/attr.h"

struct strbuf;

/* Appends a complete 502 answer with a page of text; status: the program's, 0 for none. */
void error_page_append(struct strbuf *out, int status) NONNULL;

#endif
