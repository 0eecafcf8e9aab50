#include "sandbox/browser/cdp_message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

enum { ESCAPE_LEN = 6 }; /* \uXXXX */

static const char replacement[] = "\\ufffd";

/* The code unit of an escape \uXXXX at `text`; -1 when there is none. */
static long code_unit(const char *text, size_t len)
{
    char digits[5] = "";

    if (len < ESCAPE_LEN || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (size_t i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)text[2 + i]))
            return -1;
        digits[i] = text[2 + i];
    }
    return strtol(digits, NULL, 16);
}

static bool is_high(long unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(long unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Appends the escape at `text` or its replacement; returns how many bytes of text it took. */
static size_t append_escape(struct strbuf *out, const char *text, size_t len)
{
    long unit = code_unit(text, len);

    if (unit < 0) {
        size_t taken = len < 2 ? len : 2;

        strbuf_append_bytes(out, text, taken);
        return taken;
    }
    if (is_high(unit) && is_low(code_unit(text + ESCAPE_LEN, len - ESCAPE_LEN))) {
        strbuf_append_bytes(out, text, 2 * ESCAPE_LEN);
        return 2 * (size_t)ESCAPE_LEN;
    }
    if (unit == 0 || is_high(unit) || is_low(unit))
        strbuf_append(out, replacement);
    else
        strbuf_append_bytes(out, text, ESCAPE_LEN);
    return ESCAPE_LEN;
}

void cdp_append_repaired(struct strbuf *out, const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        const char *escape = memchr(text + at, '\\', len - at);
        size_t plain = escape == NULL ? len - at : (size_t)(escape - text) - at;

        strbuf_append_bytes(out, text + at, plain);
        at += plain;
        if (at < len)
            at += append_escape(out, text + at, len - at);
    }
}

int cdp_parse(const char *text, size_t len, json_t **json_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

    strbuf_reserve(&repaired, len);
    cdp_append_repaired(&repaired, text, len);
    return json_parse(repaired.text, repaired.len, json_out, err);
}
