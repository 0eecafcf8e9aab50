/*
 * Hiding secrets in text: the same is hidden however the text is cut (cut.h).
 */
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cut.h"
#include "model/masking/masker.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int mask(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    struct masker *masker = masker_new();
    struct masking *masking = NULL;

    masker_add(masker, "abcabcd");
    masker_add(masker, "a\"b'c d%+/\\");
    masker_add(masker,
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
    masking = masking_new(masker);
    for (size_t at = 0; at < len; at += piece)
        masking_feed(masking, text + at, len - at < piece ? len - at : piece, out);
    masking_finish(masking, out);
    masking_free(masking);
    assert(memmem(out->text, out->len, "abcabcd", 7) == NULL);
    masker_free(masker);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    fuzz_cut(bytes, len, mask);
    return 0;
}
