/*
 * Internal to lib/llm: the headers of a request.
 *
 * Ownership: the caller owns struct llm_headers until llm_headers_done(); names and values are
 * borrowed.
 */
#ifndef DEFT_LLM_LLM_HEADERS_H
#define DEFT_LLM_LLM_HEADERS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/sigv4.h"

enum { LLM_HEADERS_MAX = 24 };

struct llm_headers {
    struct http_header items[LLM_HEADERS_MAX]; /* end with a NULL name */
    size_t n;
    struct strbuf key; /* the value of the header with the key, wiped by llm_headers_done() */
    struct sigv4_signature signature; /* of a signed request */
};

/* clang-format off */
#define LLM_HEADERS_INIT {.n = 0, .key = STRBUF_INIT, .signature = SIGV4_SIGNATURE_INIT}
/* clang-format on */

void llm_headers_done(struct llm_headers *headers);
/* Adds a header; those over the maximum are left out. */
void llm_headers_add(struct llm_headers *headers, const char *name, const char *value) NONNULL;

#endif
