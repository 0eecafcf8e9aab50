#include "llm/llm_headers.h"

#include <string.h>

void llm_headers_done(struct llm_headers *headers)
{
    if (headers == NULL)
        return;
    explicit_bzero(headers->key.text, headers->key.len);
    strbuf_done(&headers->key);
    sigv4_signature_done(&headers->signature);
}

void llm_headers_add(struct llm_headers *headers, const char *name, const char *value)
{
    if (headers->n == LLM_HEADERS_MAX - 1)
        return;
    headers->items[headers->n++] = (struct http_header){name, value};
    headers->items[headers->n] = (struct http_header){NULL, NULL};
}
