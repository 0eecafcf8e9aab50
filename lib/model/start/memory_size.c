#include "model/start/memory_size.h"

#include <stdlib.h>
#include <string.h>

/* 1024 to the power denoted by the letter; 0 for any other letter. */
static double unit_bytes(char letter)
{
    static const char letters[] = "kmgtp";
    const char *at = letter != '\0' ? strchr(letters, letter | 0x20) : NULL;
    double bytes = 1024;

    if (at == NULL)
        return 0;
    for (; at > letters; at--)
        bytes *= 1024;
    return bytes;
}

int64_t memory_size_bytes(const char *text)
{
    char *end = NULL;
    double value = 0;
    double unit = 1;

    if (text[0] < '0' || text[0] > '9')
        return 0;
    value = strtod(text, &end);
    end += *end == ' ';
    if (unit_bytes(*end) > 0) {
        unit = unit_bytes(*end);
        end++;
    }
    end += *end == 'i' || *end == 'I';
    end += *end == 'b' || *end == 'B';
    value *= unit;
    return *end == '\0' && value >= 1 && value < 1e18 ? (int64_t)value : 0;
}
