#include "base/utf8.h"

size_t utf8_sequence_length(const char *bytes, size_t len)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t need = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        need = 2;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        need = 3;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        need = 4;
    if (need == 0 || need > len)
        return 0;
    if (s[0] == 0xE0)
        low = 0xA0;
    if (s[0] == 0xED)
        high = 0x9F;
    if (s[0] == 0xF0)
        low = 0x90;
    if (s[0] == 0xF4)
        high = 0x8F;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF)
            return 0;
    }
    return need;
}
