#include "sandbox/terminal/terminal_keys.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

struct key {
    const char *name;
    const char *bytes;
};

static const struct key named_keys[] = {
    {"ENTER", "\r"},    {"TAB", "\t"},      {"BS", "\x7f"},      {"ESC", "\x1b"},
    {"UP", "\x1b[A"},   {"DOWN", "\x1b[B"}, {"RIGHT", "\x1b[C"}, {"LEFT", "\x1b[D"},
    {"HOME", "\x1b[H"}, {"END", "\x1b[F"},  {"PGUP", "\x1b[5~"}, {"PGDN", "\x1b[6~"},
};

static const char *const control_prefixes[] = {"C-", "CTRL-", "CTRL+"};

/* A byte and a NUL for each letter, from Ctrl-A to Ctrl-Z. */
static const char control_bytes[] = "\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0\x09\0\x0a\0"
                                    "\x0b\0\x0c\0\x0d\0\x0e\0\x0f\0\x10\0\x11\0\x12\0\x13\0\x14\0"
                                    "\x15\0\x16\0\x17\0\x18\0\x19\0\x1a\0";

char terminal_key_control_letter(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(control_prefixes); i++) {
        size_t len = strlen(control_prefixes[i]);

        if (strncasecmp(text, control_prefixes[i], len) == 0 && strlen(text) == len + 1 &&
            isalpha((unsigned char)text[len]))
            return (char)toupper((unsigned char)text[len]);
    }
    return '\0';
}

const char *terminal_key_bytes(const char *text)
{
    char letter = terminal_key_control_letter(text);

    if (letter != '\0')
        return control_bytes + (size_t)(letter - 'A') * 2;
    for (size_t i = 0; i < ARRAY_SIZE(named_keys); i++) {
        if (text_equal_nocase(text, named_keys[i].name))
            return named_keys[i].bytes;
    }
    return NULL;
}
