#include "base/uuid.h"

#include <ctype.h>
#include <string.h>

#include "base/crypto.h"

static bool is_dash_position(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

static void put_dashes(const char hex[UUID_HEX_BYTES], struct uuid *uuid)
{
    size_t n = 0;

    for (size_t i = 0; i < UUID_TEXT_BYTES - 1; i++)
        uuid->text[i] = (char)(is_dash_position(i) ? '-' : tolower((unsigned char)hex[n++]));
    uuid->text[UUID_TEXT_BYTES - 1] = '\0';
}

struct uuid uuid_random(void)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    char hex[UUID_HEX_BYTES];
    struct uuid uuid = UUID_INIT;

    crypto_random(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0FU) | 0x40U);
    bytes[8] = (unsigned char)((bytes[8] & 0x3FU) | 0x80U);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        hex[2 * i] = digits[bytes[i] >> 4U];
        hex[2 * i + 1] = digits[bytes[i] & 0x0FU];
    }
    hex[UUID_HEX_BYTES - 1] = '\0';
    put_dashes(hex, &uuid);
    return uuid;
}

struct uuid uuid_from_name(const char *name)
{
    char hash[CRYPTO_HASH_HEX_BYTES];
    struct uuid uuid = UUID_INIT;

    crypto_sha256_hex(name, strlen(name), hash);
    put_dashes(hash, &uuid);
    return uuid;
}

bool uuid_parse(const char *text, struct uuid *uuid_out)
{
    size_t len = strnlen(text, UUID_TEXT_BYTES);
    char hex[UUID_HEX_BYTES] = "";
    size_t n = 0;

    if (len != UUID_TEXT_BYTES - 1 && len != UUID_HEX_BYTES - 1)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (len == UUID_TEXT_BYTES - 1 && is_dash_position(i)) {
            if (text[i] != '-')
                return false;
            continue;
        }
        if (!isxdigit((unsigned char)text[i]))
            return false;
        hex[n++] = text[i];
    }
    put_dashes(hex, uuid_out);
    return true;
}

void uuid_to_hex(const struct uuid *uuid, char hex[UUID_HEX_BYTES])
{
    size_t n = 0;

    for (size_t i = 0; uuid->text[i] != '\0' && n < UUID_HEX_BYTES - 1; i++) {
        if (uuid->text[i] != '-')
            hex[n++] = uuid->text[i];
    }
    hex[n] = '\0';
}

bool uuid_is_set(const struct uuid *uuid)
{
    return uuid->text[0] != '\0';
}
