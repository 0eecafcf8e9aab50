#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char *const code_names[ERROR_N_CODES] = {
#define X(constant, text) [constant] = (text),
    ERROR_CODES(X)
#undef X
};

/*
 * Messages go to clients and into rows, which accept only UTF-8: invalid bytes of an argument
 * become "?", also where a precision cut it. A character cut at the message's end is dropped.
 */
static void make_utf8(char *text)
{
    size_t len = strlen(text);
    size_t n = 0;

    for (size_t i = 0; i < len; i += n > 0 ? n : 1) {
        n = utf8_sequence_length(text + i, len - i);
        if (n == 0)
            text[i] = '?';
    }
}

/* Drops the bytes of a character whose end is missing. */
static void trim_broken_tail(char *text)
{
    size_t len = strlen(text);
    size_t start = len;

    if (len < ERROR_MESSAGE_BYTES - 1)
        return;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0U) == 0x80U)
        start--;
    if (start > 0 && ((unsigned char)text[start - 1] & 0x80U) != 0)
        text[start - 1] = '\0';
}

static void set_message(struct error *err, const char *format, va_list args)
{
    char text[ERROR_MESSAGE_BYTES]; /* an argument may be the current message */

    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    trim_broken_tail(text);
    make_utf8(text);
    memcpy(err->message, text, sizeof(text));
}

int error_set_at(struct error *err, enum error_code code, const char *where, const char *format,
                 ...)
{
    va_list args;

    va_start(args, format);
    set_message(err, format, args);
    va_end(args);
    err->code = code;
    err->where = where;
    return -1;
}

int error_reword_text(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    if (err->code != code)
        return -1;
    va_start(args, format);
    set_message(err, format, args);
    va_end(args);
    return -1;
}

int error_wrap_text(struct error *err, const char *format, ...)
{
    va_list args;
    char text[ERROR_MESSAGE_BYTES];
    size_t len = 0;

    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    len = strlen(text);
    if (snprintf(text + len, sizeof(text) - len, ": %s", err->message) < 0)
        text[len] = '\0';
    trim_broken_tail(text);
    make_utf8(text);
    memcpy(err->message, text, sizeof(text));
    return -1;
}

bool error_is_transient(const struct error *err)
{
    return err->code == ERROR_UNAVAILABLE || err->code == ERROR_TIMEOUT ||
           err->code == ERROR_RATE_LIMITED;
}

bool error_is_lost_race(const struct error *err)
{
    return err->code == ERROR_CONFLICT || err->code == ERROR_STALE;
}

const char *error_code_to_string(enum error_code code)
{
    return code_names[code];
}
