#include "llm/text_call.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

static const char FUNCTION[] = "<function=";
static const char PARAMETER[] = "<parameter=";
static const char END_OF_PARAMETER[] = "</parameter>";
static const char END_OF_FUNCTION[] = "</function";
static const char WRAPPER[] = "<tool_call>";
static const char END_OF_THOUGHT[] = "</think>";

/* A part of the answer; not NUL-terminated. */
struct span {
    const char *at;
    const char *end;
};

/* Reads forward only. */
struct reader {
    const char *at;
    const char *end;
    const json_t *schema; /* the function's parameters; NULL: not known */
    json_t *values;
    struct text_call *call;
};

void text_call_done(struct text_call *call)
{
    strbuf_done(&call->words);
    strbuf_done(&call->name);
    strbuf_done(&call->arguments);
    strbuf_done(&call->problem);
}

/* --- text --- */

static bool starts_with(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

static const char *find(const char *at, const char *end, const char *word)
{
    return memmem(at, (size_t)(end - at), word, strlen(word));
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *drop_space(const char *at, const char *end)
{
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return end;
}

static char *span_text(const struct span *span)
{
    return mem_dup_bytes(span->at, (size_t)(span->end - span->at));
}

/* Reads "NAME>" behind a tag's beginning; false if it is too long or does not end. */
static bool read_name(struct reader *reader, struct strbuf *name_out)
{
    size_t left = (size_t)(reader->end - reader->at);
    size_t most = left < TEXT_CALL_NAME_MAX_BYTES ? left : TEXT_CALL_NAME_MAX_BYTES;
    const char *end = memchr(reader->at, '>', most);
    const char *begin = NULL;

    if (end == NULL)
        return false;
    begin = skip_space(reader->at, end);
    strbuf_append_bytes(name_out, begin, (size_t)(drop_space(begin, end) - begin));
    reader->at = end + 1;
    return true;
}

/* --- values --- */

static bool list_has(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));

        if (one != NULL && text_equal(one, text))
            return true;
    }
    return false;
}

static json_t *read_integer(const char *text)
{
    int64_t value = 0;
    struct error ignored = ERROR_INIT;

    if (text_parse_int(text, INT64_MIN, INT64_MAX, &value, &ignored) < 0)
        return NULL;
    return json_integer((json_int_t)value);
}

static json_t *read_number(const char *text)
{
    json_t *whole = read_integer(text);
    char *end = NULL;
    double value = 0;

    if (whole != NULL || text[0] == '\0')
        return whole;
    value = strtod(text, &end);
    return *end == '\0' && isfinite(value) ? json_real(value) : NULL;
}

static json_t *read_boolean(const char *text)
{
    if (text_equal_nocase(text, "true"))
        return json_true();
    return text_equal_nocase(text, "false") ? json_false() : NULL;
}

static json_t *read_json(const char *text)
{
    json_t *value = NULL;
    struct error ignored = ERROR_INIT;

    if (json_parse(text, strlen(text), &value, &ignored) < 0)
        return NULL;
    return value;
}

static const struct {
    const char *type;
    json_t *(*read)(const char *text);
    const char *form;
} types[] = {
    {"integer", read_integer, "a whole number"}, {"number", read_number, "a number"},
    {"boolean", read_boolean, "true or false"},  {"array", read_json, "a list in JSON"},
    {"object", read_json, "an object in JSON"},
};

static json_t *read_typed(struct reader *reader, const char *name, const char *type,
                          const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        CLEANUP(mem_freep) char *trimmed = NULL;
        const char *begin = skip_space(text, text + strlen(text));
        struct span span = {begin, drop_space(begin, text + strlen(text))};
        json_t *value = NULL;

        if (!text_equal(types[i].type, type))
            continue;
        trimmed = span_text(&span);
        value = types[i].read(trimmed);
        if (value == NULL)
            strbuf_appendf(&reader->call->problem, "The parameter '%s' of '%s' must be %s.", name,
                           reader->call->name.text, types[i].form);
        return value;
    }
    return json_text_of(text);
}

/* NULL with the problem set. */
static json_t *read_value(struct reader *reader, const char *name, const char *text)
{
    json_t *own = json_object_get(json_object_get(reader->schema, "properties"), name);
    const json_t *allowed = json_object_get(own, "enum");

    if (reader->schema == NULL)
        return json_text_of(text);
    if (own == NULL) {
        strbuf_appendf(&reader->call->problem, "The function '%s' has no parameter '%s'.",
                       reader->call->name.text, name);
        return NULL;
    }
    if (json_is_array(allowed) && !list_has(allowed, text)) {
        strbuf_appendf(&reader->call->problem, "The parameter '%s' of '%s' must be one of ", name,
                       reader->call->name.text);
        json_append_text(&reader->call->problem, allowed);
        strbuf_append_char(&reader->call->problem, '.');
        return NULL;
    }
    return read_typed(reader, name, json_text_or(own, "type", "string"), text);
}

/* --- the call --- */

/* True where a parameter can have ended: the next one begins there, or the function ends. */
static bool is_boundary(const char *at, const char *end)
{
    at = skip_space(at, end);
    return at == end || starts_with(at, end, PARAMETER) || starts_with(at, end, END_OF_FUNCTION);
}

/*
 * Finds a value's end: the first end tag before a further tag, so that a value may contain end tags
 * itself. Without any the value ends with the function, as if the tag were there.
 */
static bool find_value(struct reader *reader, struct span *value_out)
{
    const char *at = reader->at;
    const char *close = find(at, reader->end, END_OF_PARAMETER);

    while (close != NULL && !is_boundary(close + strlen(END_OF_PARAMETER), reader->end))
        close = find(close + 1, reader->end, END_OF_PARAMETER);
    if (close != NULL) {
        *value_out = (struct span){at, close};
        reader->at = close + strlen(END_OF_PARAMETER);
        return true;
    }
    close = find(at, reader->end, END_OF_FUNCTION);
    if (close == NULL)
        return false;
    *value_out = (struct span){at, close};
    reader->at = close;
    return true;
}

/* Without one line end on either side. */
static char *value_text(const struct span *span)
{
    struct span inner = *span;

    if (inner.at < inner.end && *inner.at == '\n')
        inner.at++;
    if (inner.at < inner.end && inner.end[-1] == '\n')
        inner.end--;
    return span_text(&inner);
}

static enum text_call_kind read_parameter(struct reader *reader)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    struct span span = {NULL, NULL};
    json_t *value = NULL;

    reader->at += strlen(PARAMETER);
    if (!read_name(reader, &name) || !find_value(reader, &span))
        return TEXT_CALL_CUT;
    text = value_text(&span);
    value = read_value(reader, name.text, text);
    if (value == NULL)
        return TEXT_CALL_BAD;
    json_put(reader->values, name.text, value);
    return TEXT_CALL_READ;
}

static enum text_call_kind read_parameters(struct reader *reader)
{
    enum text_call_kind kind = TEXT_CALL_READ;

    for (size_t n = 0; kind == TEXT_CALL_READ; n++) {
        reader->at = skip_space(reader->at, reader->end);
        if (!starts_with(reader->at, reader->end, PARAMETER))
            return TEXT_CALL_READ;
        if (n == TEXT_CALL_PARAMETERS_MAX) {
            strbuf_appendf(&reader->call->problem, "A call has at most %d parameters.",
                           TEXT_CALL_PARAMETERS_MAX);
            return TEXT_CALL_BAD;
        }
        kind = read_parameter(reader);
    }
    return kind;
}

static const json_t *schema_of(const json_t *functions, const char *name)
{
    for (size_t i = 0; i < json_array_size(functions); i++) {
        const json_t *function = json_object_get(json_array_get(functions, i), "function");

        if (text_equal(json_text_or(function, "name", ""), name))
            return json_object_get(function, "parameters");
    }
    return NULL;
}

static enum text_call_kind check_required(struct reader *reader)
{
    const json_t *required = json_object_get(reader->schema, "required");

    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));

        if (name == NULL || text_equal(name, "security_risk") ||
            json_object_get(reader->values, name) != NULL)
            continue;
        strbuf_appendf(&reader->call->problem,
                       "The call of '%s' lacks the required parameter '%s'.",
                       reader->call->name.text, name);
        return TEXT_CALL_BAD;
    }
    return TEXT_CALL_READ;
}

static enum text_call_kind read_call(const json_t *functions, struct reader *reader)
{
    enum text_call_kind kind = TEXT_CALL_READ;

    if (!read_name(reader, &reader->call->name))
        return TEXT_CALL_CUT;
    reader->schema = schema_of(functions, reader->call->name.text);
    kind = read_parameters(reader);
    if (kind == TEXT_CALL_READ)
        kind = check_required(reader);
    if (kind == TEXT_CALL_READ)
        json_append_text(&reader->call->arguments, reader->values);
    return kind;
}

enum text_call_kind text_call_read(const json_t *functions, const char *text, size_t len,
                                   struct text_call *call_out)
{
    json_auto_t *values = json_object();
    struct reader reader = {.at = text, .end = text + len, .values = values, .call = call_out};
    const char *thought = find(text, reader.end, END_OF_THOUGHT);
    const char *call = find(text, reader.end, FUNCTION);
    const char *end = NULL;

    /* After the call it is a part of a value. */
    if (thought != NULL && (call == NULL || thought < call))
        reader.at = skip_space(thought + strlen(END_OF_THOUGHT), reader.end);
    end = drop_space(reader.at, call != NULL ? call : reader.end);
    if (call != NULL && (size_t)(end - reader.at) >= strlen(WRAPPER) &&
        starts_with(end - strlen(WRAPPER), end, WRAPPER))
        end = drop_space(reader.at, end - strlen(WRAPPER));
    strbuf_append_bytes(&call_out->words, reader.at, (size_t)(end - reader.at));
    if (call == NULL)
        return TEXT_CALL_NONE;
    reader.at = call + strlen(FUNCTION);
    return read_call(functions, &reader);
}
