#include "model/secrets/secret_length.h"

#include <string.h>

#include "base/text.h"
#include "model/limits.h"

bool secret_is_masked(const char *value)
{
    size_t head = strspn(value, " \t\r\n");
    size_t len = strlen(value);

    while (len > head && strchr(" \t\r\n", value[len - 1]) != NULL)
        len--;
    return utf8_length(value + head, len - head) >= SECRET_MASKED_MIN_CHARS;
}
