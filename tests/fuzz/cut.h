/*
 * For readers of streams: the same bytes mean the same, however they are cut. The first byte of the
 * input says how long the pieces are.
 */
#ifndef DEFT_TESTS_FUZZ_CUT_H
#define DEFT_TESTS_FUZZ_CUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"

/* Reads the text in pieces of that length; what it means goes to out, a failure is -1. */
typedef int fuzz_reader(const char *text, size_t len, size_t piece, struct strbuf *out);

static inline void fuzz_cut(const uint8_t *bytes, size_t len, fuzz_reader *read)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    const char *text = (const char *)bytes + 1;
    int rc = 0;

    if (len < 2)
        return;
    rc = read(text, len - 1, len, &whole);
    assert(read(text, len - 1, (size_t)bytes[0] + 1, &cut) == rc);
    assert(rc < 0 || (whole.len == cut.len && memcmp(whole.text, cut.text, cut.len) == 0));
}

#endif
