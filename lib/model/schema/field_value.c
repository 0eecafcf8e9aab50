#include "model/schema/field_value.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/schema/field.h"
#include "model/schema/validation_error.h"
#include "model/schema/words.h"

/* 2^53: up to here every integer is a double. */
#define INT_IN_REAL_MAX 9007199254740992.0

struct input_value {
    const struct field *field;
    json_t *input;
    const struct json_path *path;
    json_t *problems;
};

static json_t *refuse(const struct input_value *r, const char *type, const char *msg)
{
    validation_error_add(r->problems, r->path, &(struct validation_error){type, msg, NULL},
                         r->input);
    return NULL;
}

/* Appends "a|b|c" as "'a', 'b' or 'c'". */
static void append_choice(struct strbuf *out, const char *words)
{
    const char *p = words;

    while (p != NULL) {
        const char *end = strchr(p, '|');
        size_t len = end != NULL ? (size_t)(end - p) : strlen(p);
        bool is_last = end == NULL;

        if (p != words)
            strbuf_append(out, is_last ? " or " : ", ");
        strbuf_append_char(out, '\'');
        strbuf_append_bytes(out, p, len);
        strbuf_append_char(out, '\'');
        p = is_last ? NULL : end + 1;
    }
}

static json_t *refuse_word(const struct input_value *r)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf msg = STRBUF_INIT;
    json_t *ctx = json_object();

    append_choice(&expected, r->field->words);
    strbuf_appendf(&msg, "Input should be %s", expected.text);
    json_put_text(ctx, "expected", expected.text);
    validation_error_add(r->problems, r->path,
                         &(struct validation_error){"literal_error", msg.text, ctx}, r->input);
    return NULL;
}

static json_t *refuse_long(const struct input_value *r)
{
    CLEANUP(strbuf_done) struct strbuf msg = STRBUF_INIT;
    json_t *ctx = json_object();

    strbuf_appendf(&msg, "String should have at most %zu characters", r->field->max_chars);
    json_put(ctx, "max_length", json_integer((json_int_t)r->field->max_chars));
    validation_error_add(r->problems, r->path,
                         &(struct validation_error){"string_too_long", msg.text, ctx}, r->input);
    return NULL;
}

static json_t *read_text(const struct input_value *r)
{
    const char *text = json_string_value(r->input);
    size_t len = json_string_length(r->input);

    if (text == NULL)
        return refuse(r, "string_type", "Input should be a valid string");
    if (r->field->words != NULL && !words_contain(r->field->words, text))
        return refuse_word(r);
    if ((r->field->rules & FIELD_FILLED) != 0 && len == 0)
        return refuse(r, "string_too_short", "String should have at least 1 character");
    if (r->field->max_chars > 0 && utf8_length(text, len) > r->field->max_chars)
        return refuse_long(r);
    return json_text(text, len);
}

static json_t *read_uuid(const struct input_value *r)
{
    struct uuid uuid = UUID_INIT;

    if (!json_is_string(r->input))
        return refuse(r, "uuid_type", "UUID input should be a string, bytes or UUID object");
    if (!uuid_parse(json_string_value(r->input), &uuid))
        return refuse(r, "uuid_parsing", "Input should be a valid UUID");
    return json_text_of(uuid.text);
}

static json_t *read_bool(const struct input_value *r)
{
    static const char *const yes[] = {"true", "yes", "on", "1", "t", "y"};
    static const char *const no[] = {"false", "no", "off", "0", "f", "n"};
    const char *text = json_string_value(r->input);

    if (json_is_boolean(r->input))
        return json_boolean(json_is_true(r->input));
    if (json_is_integer(r->input) && json_integer_value(r->input) >> 1 == 0)
        return json_boolean(json_integer_value(r->input));
    if (text == NULL)
        return refuse(r, "bool_type", "Input should be a valid boolean");
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        if (text_equal_nocase(text, yes[i]))
            return json_true();
        if (text_equal_nocase(text, no[i]))
            return json_false();
    }
    return refuse(r, "bool_parsing", "Input should be a valid boolean, unable to interpret input");
}

static json_t *within_limits(const struct input_value *r, json_t *number)
{
    json_int_t least = (r->field->rules & FIELD_FROM_1) != 0 ? 1 : 0;
    json_t *ctx = NULL;

    if ((r->field->rules & (FIELD_FROM_0 | FIELD_FROM_1)) == 0 ||
        json_number_value(number) >= (double)least)
        return number;
    json_decref(number);
    ctx = json_object();
    json_put(ctx, "ge", json_integer(least));
    validation_error_add(
        r->problems, r->path,
        &(struct validation_error){"greater_than_equal",
                                   least == 1 ? "Input should be greater than or equal to 1"
                                              : "Input should be greater than or equal to 0",
                                   ctx},
        r->input);
    return NULL;
}

static json_t *read_int(const struct input_value *r)
{
    struct error err = ERROR_INIT;
    int64_t number = 0;
    double real = json_real_value(r->input);

    if (json_is_integer(r->input))
        return within_limits(r, json_integer(json_integer_value(r->input)));
    if (json_is_real(r->input)) {
        if (fabs(real) > INT_IN_REAL_MAX || floor(real) < real)
            return refuse(r, "int_from_float",
                          "Input should be a valid integer, got a number with a fractional part");
        return within_limits(r, json_integer((json_int_t)real));
    }
    if (!json_is_string(r->input))
        return refuse(r, "int_type", "Input should be a valid integer");
    if (text_parse_int(json_string_value(r->input), INT64_MIN, INT64_MAX, &number, &err) < 0)
        return refuse(r, "int_parsing",
                      "Input should be a valid integer, unable to parse string as an integer");
    return within_limits(r, json_integer((json_int_t)number));
}

static json_t *read_number(const struct input_value *r)
{
    const char *text = json_string_value(r->input);
    char *end = NULL;
    double real = 0;

    if (json_is_integer(r->input))
        return within_limits(r, json_integer(json_integer_value(r->input)));
    if (json_is_real(r->input))
        return within_limits(r, json_real(json_real_value(r->input)));
    if (text == NULL)
        return refuse(r, "float_type", "Input should be a valid number");
    errno = 0;
    real = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(real))
        return refuse(r, "float_parsing",
                      "Input should be a valid number, unable to parse string as a number");
    return within_limits(r, json_real(real));
}

static json_t *read_any(const struct input_value *r)
{
    return json_deep_copy(r->input);
}

static json_t *read_map(const struct input_value *r)
{
    if (!json_is_object(r->input))
        return refuse(r, "dict_type", "Input should be a valid dictionary");
    return json_deep_copy(r->input);
}

static json_t *read_list(const struct input_value *r)
{
    if (!json_is_array(r->input))
        return refuse(r, "list_type", "Input should be a valid list");
    return json_deep_copy(r->input);
}

static json_t *read_text_map(const struct input_value *r)
{
    json_t *map = read_map(r);
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (map, name, value) {
        struct json_path at = {r->path, name, 0};

        if (!json_is_string(value))
            validation_error_add(
                r->problems, &at,
                &(struct validation_error){"string_type", "Input should be a valid string", NULL},
                value);
    }
    return map;
}

/* Reads a list whose elements all have one kind. */
static json_t *read_elements(const struct input_value *r,
                             json_t *(*read)(const struct input_value *r))
{
    json_t *list = NULL;
    json_t *item = NULL;
    size_t i = 0;

    if (!json_is_array(r->input))
        return refuse(r, "list_type", "Input should be a valid list");
    list = json_array();
    json_array_foreach (r->input, i, item) {
        struct json_path at = {r->path, NULL, (json_int_t)i};
        struct input_value element = {r->field, item, &at, r->problems};
        json_t *value = read(&element);

        if (value != NULL)
            json_push(list, value);
    }
    return list;
}

static json_t *read_texts(const struct input_value *r)
{
    return read_elements(r, read_text);
}

static json_t *read_ints(const struct input_value *r)
{
    return read_elements(r, read_int);
}

static json_t *(*const readers[])(const struct input_value *r) = {
    [FIELD_TEXT] = read_text,     [FIELD_BOOL] = read_bool, [FIELD_INT] = read_int,
    [FIELD_NUMBER] = read_number, [FIELD_UUID] = read_uuid, [FIELD_ANY] = read_any,
    [FIELD_MAP] = read_map,       [FIELD_LIST] = read_list, [FIELD_TEXT_MAP] = read_text_map,
    [FIELD_TEXTS] = read_texts,   [FIELD_INTS] = read_ints, [FIELD_OBJECT] = read_map,
    [FIELD_OBJECTS] = read_list,
};

json_t *field_value_read(const struct field *field, json_t *input, const struct json_path *path,
                         json_t *problems)
{
    struct input_value reading = {field, input, path, problems};

    return readers[field->kind](&reading);
}
