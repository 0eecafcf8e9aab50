#include "base64.h"

#include <string.h>

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
    const char *found = strchr(ALPHABET, c);

    return found == NULL ? 0 : (int)(found - ALPHABET);
}

long decode(const char *text, unsigned char *out, size_t size)
{
    size_t length = strlen(text);
    size_t n = 0;

    for (size_t i = 0; i < length; i += 4) {
        unsigned long group = 0;

        for (size_t j = 0; j < 4; j++)
            group = group << 6 | (unsigned long)value_of(text[i + j]);
        for (int shift = 16; shift >= 0; shift -= 8)
            out[n++] = (unsigned char)(group >> shift);
        if (n > size)
            return -1;
    }
    return (long)n;
}
