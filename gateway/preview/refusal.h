/*
 * What a browser sees in place of an answer that is not HTTP.
 */
#ifndef DEFT_GATEWAY_PREVIEW_REFUSAL_H
#define DEFT_GATEWAY_PREVIEW_REFUSAL_H

#include "base/attr.h"

struct strbuf;

/* Appends a whole answer, 502, with a page in words; status: the program's, 0 for none. */
void preview_refusal_append(struct strbuf *out, int status) NONNULL;

#endif
