#include "llm/json_repair.h"

#include <stdbool.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { ESCAPE_LEN = 6 }; /* \uXXXX */

static const char REPLACEMENT[] = "\\ufffd";

/* The code unit of an escape at `text`, or -1 if there is none. */
static int code_unit(const char *text, size_t len)
{
    int unit = 0;

    if (len < ESCAPE_LEN || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        int digit = hex_value(text[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* Appends the escape at `text`, repaired; returns the number of bytes consumed. */
static size_t append_escape(struct strbuf *out, const char *text, size_t len)
{
    int unit = code_unit(text, len);
    size_t n = len < 2 ? len : 2;

    if (unit < 0) {
        strbuf_append_bytes(out, text, n);
        return n;
    }
    if (is_high(unit) && is_low(code_unit(text + ESCAPE_LEN, len - ESCAPE_LEN))) {
        strbuf_append_bytes(out, text, (size_t)2 * ESCAPE_LEN);
        return (size_t)2 * ESCAPE_LEN;
    }
    if (unit == 0 || is_high(unit) || is_low(unit))
        strbuf_append(out, REPLACEMENT);
    else
        strbuf_append_bytes(out, text, ESCAPE_LEN);
    return ESCAPE_LEN;
}

static void append_repaired(struct strbuf *out, const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf valid = STRBUF_INIT;
    size_t i = 0;

    utf8_append_repaired(&valid, text, len);
    while (i < valid.len) {
        if (valid.text[i] == '\\')
            i += append_escape(out, valid.text + i, valid.len - i);
        else
            strbuf_append_char(out, valid.text[i++]);
    }
}

int json_parse_lenient(const char *text, size_t len, json_t **json_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;
    struct error first = ERROR_INIT;

    if (json_parse(text, len, json_out, &first) == 0)
        return 0;
    append_repaired(&repaired, text, len);
    return json_parse(repaired.text, repaired.len, json_out, err);
}
