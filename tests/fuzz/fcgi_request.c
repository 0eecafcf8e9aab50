/*
 * Bytes of a client as a request: target, cookie, lengths, body; up to the route that would serve
 * it.
 *
 * Input: lines "NAME=value" are parameters, an empty line ends them, the body follows.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "json_setup.h"
#include "unit/support/raw_request.h"

enum { PARAMS_MAX = 16, BODY_MAX_BYTES = 65536 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Ends each line in place; the rest of the text is the body. */
static void split(char *text, size_t len, struct raw_request *raw)
{
    size_t n = 0;
    char *at = text;
    char *end = text + len;

    while (at < end && *at != '\n' && n < PARAMS_MAX) {
        char *newline = memchr(at, '\n', (size_t)(end - at));

        raw->params[n++] = at;
        if (newline == NULL) {
            at = end;
            break;
        }
        *newline = '\0';
        at = newline + 1;
    }
    if (at < end && *at == '\n')
        at++;
    raw->body = at;
    raw->body_len = (size_t)(end - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(mem_freep) char *text = mem_dup_bytes(bytes, len);
    char *params[PARAMS_MAX + 1] = {NULL};
    struct raw_request raw = {.params = params, .body_max_bytes = BODY_MAX_BYTES};

    split(text, len, &raw);
    raw_request_read(&raw);
    return 0;
}
