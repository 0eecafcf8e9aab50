#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/utf8.h"

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_equal_nocase(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    size_t text_len = strlen(text);
    size_t suffix_len = strlen(suffix);

    return text_len >= suffix_len && memcmp(text + text_len - suffix_len, suffix, suffix_len) == 0;
}

bool text_is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

bool text_equal_secret(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}

int text_parse_int(const char *text, int64_t min, int64_t max, int64_t *value_out,
                   struct error *err)
{
    char *end = NULL;
    long long value = 0;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || isspace((unsigned char)text[0]))
        return error_set(err, ERROR_INVALID, "'%.40s' is not a whole number", text);
    if (errno == ERANGE || value < min || value > max)
        return error_set(err, ERROR_INVALID, "%.40s is not between %lld and %lld", text,
                         (long long)min, (long long)max);
    *value_out = value;
    return 0;
}

bool utf8_is_valid(const char *bytes, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t n = utf8_sequence_length(bytes + i, len - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t utf8_length(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (((unsigned char)text[i] & 0xC0U) != 0x80U)
            n++;
    }
    return n;
}

size_t utf8_offset(const char *text, size_t len, size_t n)
{
    size_t seen = 0;

    for (size_t i = 0; i < len; i++) {
        if (((unsigned char)text[i] & 0xC0U) == 0x80U)
            continue;
        if (seen == n)
            return i;
        seen++;
    }
    return len;
}

void utf8_append_repaired(struct strbuf *out, const char *bytes, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t start = i;
        size_t n = 1;

        while (i < len && bytes[i] != '\0' && n > 0) {
            n = utf8_sequence_length(bytes + i, len - i);
            i += n;
        }
        strbuf_append_bytes(out, bytes + start, i - start);
        if (i < len) {
            strbuf_append(out, "\xEF\xBF\xBD");
            i++;
        }
    }
}
