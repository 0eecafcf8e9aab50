#include "base64.h"

#include <string.h>

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
    const char *found = c == '\0' ? NULL : strchr(ALPHABET, c);

    return found == NULL ? -1 : (int)(found - ALPHABET);
}

/* The 24 bits of four characters, the last n_padding of which are `=`; -1: invalid. */
static long read_group(const char *text, int n_padding)
{
    long group = 0;

    for (int i = 0; i < 4; i++) {
        int value = i < 4 - n_padding ? value_of(text[i]) : 0;

        if (value < 0)
            return -1;
        group = group << 6 | value;
    }
    return (group & ((1L << 8 * n_padding) - 1)) == 0 ? group : -1;
}

static int count_padding(const char *text, size_t length)
{
    if (length == 0 || text[length - 1] != '=')
        return 0;
    return text[length - 2] == '=' ? 2 : 1;
}

long decode(const char *text, unsigned char *out, size_t size)
{
    size_t length = strlen(text);
    int n_padding = 0;
    size_t n = 0;

    if (length % 4 != 0)
        return -1;
    n_padding = count_padding(text, length);
    if (length / 4 * 3 - (size_t)n_padding > size)
        return -1;
    for (size_t i = 0; i < length; i += 4) {
        int n_missing = i + 4 == length ? n_padding : 0;
        long group = read_group(text + i, n_missing);

        if (group < 0)
            return -1;
        for (int j = 0; j < 3 - n_missing; j++)
            out[n++] = (unsigned char)(group >> (16 - 8 * j));
    }
    return (long)n;
}
