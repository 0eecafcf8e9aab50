/*
 * Server-sent events: the same bytes give the same events, however they are cut (cut.h).
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "client/sse.h"
#include "cut.h"

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
    fuzz_cut(bytes, len, parse);
    return 0;
}
