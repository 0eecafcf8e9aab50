/*
 * HTTP/1 answers: the same bytes give the same pieces, however they are cut (cut.h).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "client/http1.h"
#include "cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Lines and body as one text; 1 when the answer is whole, 0 when more is to come, -1 for none. */
static int read_answer(const char *bytes, size_t len, size_t cut, struct strbuf *out)
{
    CLEANUP(http1_done) struct http1_reader reader = HTTP1_READER_INIT;
    struct http1_piece piece = {HTTP1_NONE, NULL, 0};
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len; at += cut) {
        struct http1_input input = {bytes + at, len - at < cut ? len - at : cut};

        do {
            size_t before = input.len;

            if (http1_next(&reader, &input, &piece, &err) < 0)
                return -1;
            assert(input.len <= before);
            if (piece.kind == HTTP1_LINE)
                strbuf_append_char(out, '\n');
            strbuf_append_bytes(out, piece.bytes, piece.len);
        } while (piece.kind == HTTP1_LINE || piece.kind == HTTP1_BYTES);
        if (piece.kind == HTTP1_END)
            return 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    fuzz_cut(bytes, len, read_answer);
    return 0;
}
