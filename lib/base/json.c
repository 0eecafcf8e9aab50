#include "base/json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { NUMBER_MAX_BYTES = 64 };

/* Not zeroed: jansson initializes what it allocates. */
static void *alloc_unset(size_t size)
{
    return mem_resize(NULL, size);
}

void json_setup(void)
{
    json_set_alloc_funcs(alloc_unset, mem_free);
}

/* True if a value may begin after c: an element or member after a comma, or the first. */
static bool may_begin_value(char c)
{
    return c == ',' || c == '[' || c == '{';
}

/*
 * Checks depth and number of values by counting outside strings, before jansson recurses and
 * allocates.
 */
static int check_extent(const char *text, size_t len, size_t max_values, struct error *err)
{
    size_t depth = 0;
    size_t n_values = 0;
    int in_string = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = 0;
            continue;
        }
        if (c == '"')
            in_string = 1;
        if (c == '{' || c == '[')
            depth++;
        if ((c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > JSON_MAX_DEPTH)
            return error_set(err, ERROR_INVALID, "nested deeper than %d levels", JSON_MAX_DEPTH);
        n_values += may_begin_value(c);
        if (n_values > max_values)
            return error_set(err, ERROR_INVALID, "more than %zu values", max_values);
    }
    return 0;
}

static int parse(const char *text, size_t len, size_t flags, json_t **json_out, struct error *err)
{
    json_error_t why;
    json_t *json = json_loadb(text, len, flags, &why);

    if (json == NULL)
        return error_set(err, ERROR_INVALID, "%s (line %d, column %d)", why.text, why.line,
                         why.column);
    *json_out = json;
    return 0;
}

bool json_is_media_type(const char *content_type)
{
    static const char application[] = "application/";
    size_t len = strcspn(content_type, "; \t");

    if (strncasecmp(content_type, application, strlen(application)) != 0)
        return false;
    content_type += strlen(application);
    len -= strlen(application);
    return (len == strlen("json") && strncasecmp(content_type, "json", len) == 0) ||
           (len > strlen("+json") && strncasecmp(content_type + len - 5, "+json", 5) == 0);
}

int json_refuse_media_type(struct error *err)
{
    return error_set(err, ERROR_MEDIA_TYPE,
                     "The body must be JSON: send it with Content-Type: application/json");
}

int json_parse(const char *text, size_t len, json_t **json_out, struct error *err)
{
    if (check_extent(text, len, JSON_MAX_VALUES, err) < 0)
        return -1;
    return parse(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, json_out, err);
}

int json_parse_limited(const char *text, size_t len, size_t max_values, json_t **json_out,
                       struct error *err)
{
    if (check_extent(text, len, max_values, err) < 0) {
        err->code = ERROR_TOO_LARGE;
        return -1;
    }
    return parse(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, json_out, err);
}

int json_parse_first(const char *text, size_t len, json_t **json_out, struct error *err)
{
    if (check_extent(text, len, JSON_MAX_VALUES, err) < 0)
        return -1;
    return parse(text, len, JSON_DISABLE_EOF_CHECK, json_out, err);
}

/* Text generated from a json_t is neither too deep nor has duplicate keys. */
int json_parse_own(const char *text, size_t len, json_t **json_out, struct error *err)
{
    if (parse(text, len, JSON_DECODE_ANY, json_out, err) == 0)
        return 0;
    err->code = ERROR_INTERNAL;
    return error_wrap(err, "written JSON always parses");
}

json_t *json_need_object(json_t *object, const char *name)
{
    json_t *member = json_object_get(object, name);

    if (json_is_object(member))
        return member;
    member = json_object();
    json_put(object, name, member);
    return member;
}

json_t *json_build(struct error *err, const char *format, ...)
{
    json_error_t why;
    va_list args;
    json_t *json = NULL;

    va_start(args, format);
    json = json_vpack_ex(&why, 0, format, args);
    va_end(args);
    if (json == NULL)
        error_set(err, ERROR_INVALID, "%s", why.text);
    return json;
}

int json_read(json_t *json, struct error *err, const char *format, ...)
{
    json_error_t why;
    va_list args;
    int rc = 0;

    va_start(args, format);
    rc = json_vunpack_ex(json, &why, 0, format, args);
    va_end(args);
    if (rc < 0)
        return error_set(err, ERROR_INVALID, "%s", why.text);
    return 0;
}

/* --- text --- */

static void append_escaped(struct strbuf *out, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *at = c == '\0' ? NULL : strchr(plain, c);

    if (at == NULL) {
        strbuf_appendf(out, "\\u%04X", (unsigned)(unsigned char)c);
        return;
    }
    strbuf_append_char(out, '\\');
    strbuf_append_char(out, letters[at - plain]);
}

static void append_string(struct strbuf *out, const char *text, size_t len)
{
    size_t from = 0;

    strbuf_reserve(out, len + 2);
    strbuf_append_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] >= ' ' && text[i] != '"' && text[i] != '\\')
            continue;
        strbuf_append_bytes(out, text + from, i - from);
        append_escaped(out, text[i]);
        from = i + 1;
    }
    strbuf_append_bytes(out, text + from, len - from);
    strbuf_append_char(out, '"');
}

/* Members, each followed by a comma. */
/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static void append_members(struct strbuf *out, json_t *object)
{
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);

        append_string(out, key, strlen(key));
        strbuf_append_char(out, ':');
        json_append_text(out, json_object_iter_value(at));
        strbuf_append_char(out, ',');
    }
}

/* The brace replaces the last comma. */
static void end_object(struct strbuf *out)
{
    if (out->text[out->len - 1] == ',')
        strbuf_truncate(out, out->len - 1);
    strbuf_append_char(out, '}');
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static void append_object(struct strbuf *out, json_t *object)
{
    strbuf_append_char(out, '{');
    append_members(out, object);
    end_object(out);
}

void json_append_rest(struct strbuf *out, const json_t *json)
{
    append_members(out, (json_t *)(uintptr_t)json);
    end_object(out);
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static void append_array(struct strbuf *out, const json_t *array)
{
    strbuf_append_char(out, '[');
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i > 0)
            strbuf_append_char(out, ',');
        json_append_text(out, json_array_get(array, i));
    }
    strbuf_append_char(out, ']');
}

static void append_integer(struct strbuf *out, json_int_t value)
{
    char text[NUMBER_MAX_BYTES];
    char *at = text + sizeof(text);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
    strbuf_append_bytes(out, at, (size_t)(text + sizeof(text) - at));
}

/* jansson prints reals that read back as the same value, whatever the locale. */
static void append_real(struct strbuf *out, const json_t *real)
{
    char text[NUMBER_MAX_BYTES];
    size_t len = json_dumpb(real, text, sizeof(text), JSON_ENCODE_ANY);

    assert(len > 0 && len <= sizeof(text));
    strbuf_append_bytes(out, text, len);
}

/* jansson's json_dumps() checks for cycles, which costs more than the writing. */
/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
void json_append_text(struct strbuf *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        append_object(out, (json_t *)(uintptr_t)json);
        return;
    case JSON_ARRAY:
        append_array(out, json);
        return;
    case JSON_STRING:
        append_string(out, json_string_value(json), json_string_length(json));
        return;
    case JSON_INTEGER:
        append_integer(out, json_integer_value(json));
        return;
    case JSON_REAL:
        append_real(out, json);
        return;
    case JSON_TRUE:
        strbuf_append(out, "true");
        return;
    case JSON_FALSE:
        strbuf_append(out, "false");
        return;
    case JSON_NULL:
        strbuf_append(out, "null");
        return;
    }
}

char *json_to_text(const json_t *json)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, json);
    return strbuf_take(&text);
}

const char *json_text_or(const json_t *object, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : fallback;
}

json_int_t json_int_or(const json_t *object, const char *key, json_int_t fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

double json_number_or(const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : fallback;
}

int json_bool_or(const json_t *object, const char *key, int fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

/* jansson accepts only UTF-8 keys. */
static int put_repaired(json_t *object, const char *key, json_t *value)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

    utf8_append_repaired(&repaired, key, strlen(key));
    return json_object_set(object, repaired.text, value);
}

void json_put(json_t *object, const char *key, json_t *value)
{
    int rc = 0;

    if (value == NULL)
        return;
    rc = json_object_set(object, key, value);
    if (rc != 0)
        rc = put_repaired(object, key, value);
    json_decref(value);
    assert(rc == 0);
    (void)rc;
}

json_t *json_text(const char *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;
    json_t *json = NULL;

    /* Nearly all text is valid; jansson refuses broken UTF-8, but accepts NULs. */
    if (len > 0 && memchr(bytes, 0, len) == NULL)
        json = json_stringn(bytes, len);
    if (json != NULL)
        return json;
    if (len > 0)
        utf8_append_repaired(&repaired, bytes, len);
    json = json_stringn(repaired.text, repaired.len);
    assert(json != NULL);
    return json;
}

json_t *json_text_of(const char *text)
{
    return text != NULL ? json_text(text, strlen(text)) : json_null();
}

void json_put_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        json_put(object, key, json_text(text, strlen(text)));
}

void json_push(json_t *array, json_t *value)
{
    int rc = json_array_append_new(array, value);

    assert(rc == 0);
    (void)rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
void json_drop_nulls(json_t *json)
{
    const char *key = NULL;
    void *next = NULL;
    json_t *value = NULL;
    size_t i = 0;

    json_object_foreach_safe (json, next, key, value) {
        if (json_is_null(value))
            (void)json_object_del(json, key);
        else
            json_drop_nulls(value);
    }
    json_array_foreach (json, i, value)
        json_drop_nulls(value);
}
