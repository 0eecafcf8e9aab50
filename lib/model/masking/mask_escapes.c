#include "model/masking/mask_escapes.h"

#include <stdint.h>
#include <string.h>

#include "base/encode.h"

static struct mask_decoded one(size_t n_read, char byte)
{
    return (struct mask_decoded){n_read, 1, {byte}};
}

struct mask_decoded mask_decode_percent(const char *text, size_t n)
{
    int c = 0;

    if (text[0] == '+')
        return one(1, ' ');
    if (text[0] != '%' || (n > 1 && hex_value(text[1]) < 0) || (n > 2 && hex_value(text[2]) < 0))
        return one(1, text[0]);
    if (n < MASK_PERCENT_BYTES)
        return (struct mask_decoded){.n_read = 0};
    c = hex_value(text[1]) << 4 | hex_value(text[2]);
    return one(MASK_PERCENT_BYTES, (char)(c == '+' ? ' ' : c));
}

/* Returns the value of n_digits hexadecimal digits; -1 if invalid, -2 if more text is needed. */
static int hex_number(const char *text, size_t n, size_t n_digits)
{
    int number = 0;

    for (size_t i = 0; i < n_digits; i++) {
        if (i == n)
            return -2;
        if (hex_value(text[i]) < 0)
            return -1;
        number = number << 4 | hex_value(text[i]);
    }
    return number;
}

static struct mask_decoded utf8_of(size_t n_read, uint32_t c)
{
    if (c < 0x80)
        return one(n_read, (char)c);
    if (c < 0x800)
        return (struct mask_decoded){n_read, 2, {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 63))}};
    if (c < 0x10000)
        return (struct mask_decoded){
            n_read,
            3,
            {(char)(0xE0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))}};
    return (struct mask_decoded){n_read,
                                 4,
                                 {(char)(0xF0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                                  (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))}};
}

/* Decodes \uXXXX, or a surrogate pair of them. */
static struct mask_decoded unicode_meaning(const char *text, size_t n)
{
    int high = hex_number(text + 2, n - 2, 4);
    int low = -1;

    if (high == -2)
        return (struct mask_decoded){.n_read = 0};
    if (high < 0)
        return one(2, 'u');
    if (high < 0xD800 || high > 0xDBFF)
        return utf8_of(6, (uint32_t)high);
    if ((n > 6 && text[6] != '\\') || (n > 7 && text[7] != 'u'))
        return utf8_of(6, (uint32_t)high);
    low = n > 8 ? hex_number(text + 8, n - 8, 4) : -2;
    if (low == -2)
        return (struct mask_decoded){.n_read = 0};
    if (low < 0xDC00 || low > 0xDFFF)
        return utf8_of(6, (uint32_t)high);
    return utf8_of(12, 0x10000 + (((uint32_t)high - 0xD800) << 10) + ((uint32_t)low - 0xDC00));
}

static struct mask_decoded octal_meaning(const char *text, size_t n)
{
    int number = 0;

    for (size_t i = 1; i < 4; i++) {
        if (i == n)
            return (struct mask_decoded){.n_read = 0};
        if (text[i] < '0' || text[i] > '7')
            return one(2, text[1]);
        number = number << 3 | (text[i] - '0');
    }
    return one(4, (char)number);
}

struct mask_decoded mask_decode_escape(const char *text, size_t n)
{
    static const char letters[] = "nrtbfae";
    static const char values[] = "\n\r\t\b\f\a\033";
    const char *letter = NULL;
    int number = 0;

    if (text[0] == '"' || text[0] == '\'')
        return (struct mask_decoded){.n_read = 1};
    if (text[0] != '\\')
        return one(1, text[0]);
    if (n == 1)
        return (struct mask_decoded){.n_read = 0};
    if (text[1] == 'u')
        return unicode_meaning(text, n);
    if (text[1] >= '0' && text[1] <= '7')
        return octal_meaning(text, n);
    if (text[1] == 'x') {
        number = hex_number(text + 2, n - 2, 2);
        if (number == -2)
            return (struct mask_decoded){.n_read = 0};
        return number < 0 ? one(2, 'x') : one(4, (char)number);
    }
    /* An escaped quote, or a line continuation. */
    if (text[1] == '"' || text[1] == '\'' || text[1] == '\n')
        return (struct mask_decoded){.n_read = 2};
    letter = text[1] != '\0' ? strchr(letters, text[1]) : NULL;
    if (letter != NULL)
        return one(2, values[letter - letters]);
    return one(2, text[1]);
}
