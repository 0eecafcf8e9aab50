/*
 * Typed query parameters.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/request.h"
#include "model/limits.h"

static int query_problem(const struct request *request, const char *name,
                         const struct validation_error *problem, struct error *err)
{
    const char *value = request_query(request, name);
    json_auto_t *input = json_text(value, strlen(value));

    return request_problem(request, REQUEST_JSON_PATH("query", name), problem, input, err);
}

/* A bound in pydantic's terms: "gt" 0, "le" 100. */
struct bound {
    const char *type;
    const char *key;
    const char *words;
    int64_t value;
};

static int bound_problem(const struct request *request, const char *name, const struct bound *bound,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    json_t *ctx = json_object();

    json_put(ctx, bound->key, json_integer((json_int_t)bound->value));
    strbuf_appendf(&message, "Input should be %s %lld", bound->words, (long long)bound->value);
    return query_problem(request, name, &(struct validation_error){bound->type, message.text, ctx},
                         err);
}

/* `below`: the bound to report for a value under range->min. */
static int read_int(const struct request *request, const char *name, const struct int_range *range,
                    const struct bound *below, int64_t *value_io, struct error *err)
{
    static const char words[] =
        "Input should be a valid integer, unable to parse string as an integer";
    const char *text = request_query(request, name);
    struct error why = ERROR_INIT;
    int64_t value = 0;

    if (text == NULL)
        return 0;
    if (text_parse_int(text, INT64_MIN, INT64_MAX, &value, &why) < 0)
        return query_problem(request, name, &(struct validation_error){"int_parsing", words, NULL},
                             err);
    if (value < range->min)
        return bound_problem(request, name, below, err);
    if (value > range->max)
        return bound_problem(
            request, name,
            &(struct bound){"less_than_equal", "le", "less than or equal to", range->max}, err);
    *value_io = value;
    return 0;
}

int request_query_int(const struct request *request, const char *name,
                      const struct int_range *range, int64_t *value_io, struct error *err)
{
    const struct bound below = {"greater_than_equal", "ge", "greater than or equal to", range->min};

    return read_int(request, name, range, &below, value_io, err);
}

int request_query_limit(const struct request *request, int64_t *limit_out, struct error *err)
{
    const struct int_range range = {1, PAGE_MAX_ITEMS};
    const struct bound below = {"greater_than", "gt", "greater than", 0};

    *limit_out = PAGE_MAX_ITEMS;
    return read_int(request, "limit", &range, &below, limit_out, err);
}

int request_query_bool(const struct request *request, const char *name, bool *value_io,
                       struct error *err)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes",
                                        "off",   "on",   "f", "t", "n",  "y"};
    const char *text = request_query(request, name);

    if (text == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (text_equal_nocase(text, words[i])) {
            *value_io = i % 2 == 1;
            return 0;
        }
    }
    return query_problem(
        request, name,
        &(struct validation_error){
            "bool_parsing", "Input should be a valid boolean, unable to interpret input", NULL},
        err);
}

/* "'a', 'b' or 'c'" */
static void append_choices(struct strbuf *out, const char *const *choices)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (i > 0)
            strbuf_append(out, choices[i + 1] == NULL ? " or " : ", ");
        strbuf_appendf(out, "'%s'", choices[i]);
    }
}

int request_query_choice(const struct request *request, const char *name,
                         const char *const *choices, size_t *index_io, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const char *text = request_query(request, name);
    json_t *ctx = NULL;

    if (text == NULL)
        return 0;
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (text_equal(text, choices[i])) {
            *index_io = i;
            return 0;
        }
    }
    append_choices(&expected, choices);
    strbuf_appendf(&message, "Input should be %s", expected.text);
    ctx = json_object();
    json_put_text(ctx, "expected", expected.text);
    return query_problem(request, name, &(struct validation_error){"enum", message.text, ctx}, err);
}
