#include "base/encode.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"

static const char hex_digits[] = "0123456789abcdef";
static const char base64url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hex_encode(const unsigned char *bytes, size_t len, char *hex_out)
{
    for (size_t i = 0; i < len; i++) {
        hex_out[2 * i] = hex_digits[bytes[i] >> 4U];
        hex_out[2 * i + 1] = hex_digits[bytes[i] & 0x0FU];
    }
    hex_out[2 * len] = '\0';
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int hex_decode(const char *hex, unsigned char *bytes_out, size_t len, struct error *err)
{
    if (strlen(hex) != 2 * len)
        return error_set(err, ERROR_INVALID, "expected %zu hex digits", 2 * len);
    for (size_t i = 0; i < len; i++) {
        int high = hex_value(hex[2 * i]);
        int low = hex_value(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return error_set(err, ERROR_INVALID, "expected %zu hex digits", 2 * len);
        bytes_out[i] = (unsigned char)(high * 16 + low);
    }
    return 0;
}

static void base64_groups(struct strbuf *out, const char *digits, const unsigned char *bytes,
                          size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        unsigned group = (unsigned)bytes[i] << 16U;

        if (have > 1)
            group |= (unsigned)bytes[i + 1] << 8U;
        if (have > 2)
            group |= bytes[i + 2];
        for (size_t k = 0; k <= have; k++)
            strbuf_append_char(out, digits[(group >> (18U - 6U * k)) & 63U]);
    }
}

void base64url_append(struct strbuf *out, const unsigned char *bytes, size_t len)
{
    base64_groups(out, base64url_digits, bytes, len);
}

void base64_append(struct strbuf *out, const unsigned char *bytes, size_t len)
{
    base64_groups(out, base64_digits, bytes, len);
    for (size_t have = len % 3; have != 0 && have < 3; have++)
        strbuf_append_char(out, '=');
}

int base64url_decode(const char *text, struct strbuf *out, struct error *err)
{
    size_t len = strlen(text);
    unsigned bits = 0;
    unsigned n_bits = 0;

    if (len % 4 == 1)
        return error_set(err, ERROR_INVALID, "not base64url: wrong length");
    for (size_t i = 0; i < len; i++) {
        const char *digit = strchr(base64url_digits, text[i]);

        if (digit == NULL)
            return error_set(err, ERROR_INVALID, "not base64url: invalid character");
        bits = bits << 6U | (unsigned)(digit - base64url_digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            strbuf_append_char(out, (char)(unsigned char)(bits >> n_bits));
            bits &= (1U << n_bits) - 1U;
        }
    }
    return 0;
}

/* The value of each character; 64: not in the alphabet. */
static void base64_values(unsigned char values[256])
{
    memset(values, 64, 256);
    for (unsigned char i = 0; i < 64; i++)
        values[(unsigned char)base64_digits[i]] = i;
}

static size_t base64_trimmed(const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == '=' || text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    return len;
}

int base64_decode(const char *text, size_t len, struct strbuf *out, struct error *err)
{
    unsigned char values[256];
    unsigned bits = 0;
    unsigned n_bits = 0;

    base64_values(values);
    len = base64_trimmed(text, len);
    strbuf_reserve(out, len / 4 * 3 + 3);
    for (size_t i = 0; i < len; i++) {
        unsigned char value = values[(unsigned char)text[i]];

        if (text[i] == '\n' || text[i] == '\r')
            continue;
        if (value > 63)
            return error_set(err, ERROR_INVALID, "not base64: invalid character");
        bits = (bits << 6U | value) & 0xFFFFU;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            strbuf_append_char(out, (char)(unsigned char)(bits >> n_bits));
        }
    }
    return n_bits < 6 ? 0 : error_set(err, ERROR_INVALID, "not base64: wrong length");
}

void percent_append(struct strbuf *out, const char *text)
{
    percent_append_bytes(out, text, strlen(text));
}

void percent_append_bytes(struct strbuf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c != '\0' && (isalnum(c) || strchr("-._~", c) != NULL))
            strbuf_append_char(out, bytes[i]);
        else
            strbuf_appendf(out, "%%%02X", c);
    }
}

void percent_decode(struct strbuf *out, const char *text, size_t len, char plus)
{
    for (size_t i = 0; i < len; i++) {
        int high = text[i] == '%' && i + 2 < len ? hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text[i + 2]) : -1;

        if (low >= 0) {
            strbuf_append_char(out, (char)(unsigned char)(high * 16 + low));
            i += 2;
        } else {
            strbuf_append_char(out, (char)(text[i] == '+' ? plus : text[i]));
        }
    }
}

void shell_word_append(struct strbuf *out, const char *text)
{
    strbuf_append_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            strbuf_append(out, "'\\''");
        else
            strbuf_append_char(out, *text);
    }
    strbuf_append_char(out, '\'');
}
