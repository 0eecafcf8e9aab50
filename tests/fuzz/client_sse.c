/*
 * Server-sent events: the same bytes give the same events, however they are cut.
 * The first byte of the input says how long the pieces are.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "client/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MAX_BYTES = 4096 };

static int parse(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len; at += piece) {
        struct sse_input input = {text + at, len - at < piece ? len - at : piece};
        struct sse_event event = {"", "", 0};

        while (event.data != NULL) {
            if (sse_next(&sse, &input, &event, &err) < 0)
                return -1;
            if (event.data != NULL)
                strbuf_appendf(out, "%s=%s|", event.name, event.data);
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    const char *text = (const char *)bytes + 1;
    int rc = 0;

    if (len < 2)
        return 0;
    rc = parse(text, len - 1, len, &whole);
    assert(parse(text, len - 1, (size_t)bytes[0] + 1, &cut) == rc);
    assert(rc < 0 || (whole.len == cut.len && memcmp(whole.text, cut.text, cut.len) == 0));
    return 0;
}
