/*
 * HTTP/1 answers: the same bytes give the same pieces, however they are cut.
 * The first byte of the input says how long the pieces are.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "client/http1.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

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
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    const char *text = (const char *)bytes + 1;
    int rc = 0;

    if (len < 2)
        return 0;
    rc = read_answer(text, len - 1, len, &whole);
    assert(read_answer(text, len - 1, (size_t)bytes[0] + 1, &cut) == rc);
    assert(rc < 0 || (whole.len == cut.len && memcmp(whole.text, cut.text, cut.len) == 0));
    return 0;
}
