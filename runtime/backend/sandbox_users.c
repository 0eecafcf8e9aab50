#include "runtime/backend/sandbox_users.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/backend/mount_paths.h"

enum { DIGITS = 5, NO_PAIR = -1 };

/* The pair in a name; NO_PAIR for names of older versions and for other names. */
static int pair_of(const char *name)
{
    const char *mark = strrchr(name, '-');
    unsigned long number = 0;

    if (mark == NULL || strlen(mark + 1) != DIGITS || strspn(mark + 1, "0123456789") != DIGITS)
        return NO_PAIR;
    number = strtoul(mark + 1, NULL, 10);
    if (number < USERS_FIRST || number >= USERS_END || number % 2 != 0)
        return NO_PAIR;
    return (int)(number - USERS_FIRST) / 2;
}

struct sandbox_users sandbox_users_of_home(const char *home)
{
    int pair = pair_of(home);
    unsigned command = pair == NO_PAIR ? SANDBOX_UID : USERS_FIRST + 2U * (unsigned)pair;

    return (struct sandbox_users){.command = command, .server = command + 1, .group = SANDBOX_GID};
}

static unsigned char bit_of(size_t pair)
{
    return (unsigned char)(1U << pair % CHAR_BIT);
}

static bool has(const struct users_in_use *used, size_t pair)
{
    return (used->bits[pair / CHAR_BIT] & bit_of(pair)) != 0;
}

void users_in_use_add(struct users_in_use *used, const char *name)
{
    int pair = pair_of(name);

    if (pair != NO_PAIR)
        used->bits[pair / CHAR_BIT] |= bit_of((size_t)pair);
}

void users_in_use_remove(struct users_in_use *used, const char *name)
{
    int pair = pair_of(name);

    if (pair != NO_PAIR)
        used->bits[pair / CHAR_BIT] &= (unsigned char)~bit_of((size_t)pair);
}

bool users_in_use_take(struct users_in_use *used, const struct users_in_use *others, uint32_t start,
                       unsigned *command_out)
{
    for (size_t i = 0; i < USERS_PAIRS; i++) {
        size_t pair = (start % USERS_PAIRS + i) % USERS_PAIRS;

        if (has(used, pair) || has(others, pair))
            continue;
        used->bits[pair / CHAR_BIT] |= bit_of(pair);
        *command_out = (unsigned)(USERS_FIRST + 2 * pair);
        return true;
    }
    return false;
}
