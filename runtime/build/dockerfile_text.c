#include "runtime/build/dockerfile_text.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

/* Maximum of one instruction, and of all joined lines, since lines may be read more than once. */
#define INSTRUCTION_MAX_BYTES (64UL * 1024)
#define JOINED_MAX_BYTES (2UL * 1024 * 1024)

/* Removed from words by shells and builders. */
#define QUOTES "\"'\\`"

/* --- lines --- */

/* Length of the white space at `at`, Unicode's included, which builders strip before an
 * instruction; or 0. */
static size_t blank_len(const char *at, const char *end)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf",
    };

    if (at == end)
        return 0;
    if (strchr(DOCKERFILE_BLANKS, *at) != NULL && *at != '\0')
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
        size_t len = strlen(wide[i]);

        if ((size_t)(end - at) >= len && memcmp(at, wide[i], len) == 0)
            return len;
    }
    /* U+2000 to U+200A */
    if (end - at >= 3 && memcmp(at, "\xe2\x80", 2) == 0 && (unsigned char)at[2] >= 0x80 &&
        (unsigned char)at[2] <= 0x8a)
        return 3;
    return 0;
}

const char *dockerfile_skip_blanks(const char *at, const char *end)
{
    size_t len = 0;

    while ((len = blank_len(at, end)) > 0)
        at += len;
    return at;
}

const char *dockerfile_line_end(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));

    return found != NULL ? found : end;
}

/* Appends the line without its continuation character; returns whether it had one. */
static bool append_line(struct strbuf *out, const char *at, const char *end, char escape)
{
    while (end > at && strchr(DOCKERFILE_BLANKS, end[-1]) != NULL)
        end--;
    if (end > at && end[-1] == escape) {
        strbuf_append_bytes(out, at, (size_t)(end - 1 - at));
        return true;
    }
    strbuf_append_bytes(out, at, (size_t)(end - at));
    return false;
}

int dockerfile_join(struct dockerfile_text *text, const char *at, struct strbuf *out,
                    struct error *err)
{
    bool goes_on = true;

    while (goes_on && at < text->end) {
        const char *end = dockerfile_line_end(at, text->end);
        const char *begin = dockerfile_skip_blanks(at, end);
        bool is_skipped = out->len > 0 && (begin == end || *begin == '#');

        if (!is_skipped)
            goes_on = append_line(out, out->len > 0 ? at : begin, end, text->escape);
        text->n_joined += (size_t)(end - at) + 1;
        if (out->len > INSTRUCTION_MAX_BYTES || text->n_joined > JOINED_MAX_BYTES)
            return error_set(err, ERROR_INVALID, "Dockerfile: an instruction is too long");
        at = end < text->end ? end + 1 : end;
    }
    return 0;
}

/* --- words --- */

bool dockerfile_next_word(const char **at, struct strbuf *word)
{
    const char *begin = *at + strspn(*at, DOCKERFILE_BLANKS "\n");
    size_t len = strcspn(begin, DOCKERFILE_BLANKS "\n");

    strbuf_reset(word);
    strbuf_append_bytes(word, begin, len);
    *at = begin + len;
    return len > 0;
}

void dockerfile_append_plain(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr(QUOTES, text[i]) == NULL)
            strbuf_append_char(out, text[i]);
    }
}

void dockerfile_unquote(struct strbuf *word)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    dockerfile_append_plain(&plain, word->text, word->len);
    strbuf_reset(word);
    strbuf_append_bytes(word, plain.text != NULL ? plain.text : "", plain.len);
}
