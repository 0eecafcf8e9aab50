#include "model/schema/validation_error.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

/* In order from the root. */
static json_t *json_path_to_json(const struct json_path *path)
{
    json_t *loc = json_array();

    for (const struct json_path *p = path; p != NULL; p = p->parent) {
        json_t *step =
            p->name != NULL ? json_text(p->name, strlen(p->name)) : json_integer(p->index);

        if (json_array_insert_new(loc, 0, step) < 0)
            break;
    }
    return loc;
}

void validation_error_add(json_t *problems, const struct json_path *path,
                          const struct validation_error *problem, json_t *input)
{
    json_t *entry = json_object();
    bool is_hidden = path->name != NULL && redact_is_secret_name(path->name);

    json_put_text(entry, "type", problem->type);
    json_put(entry, "loc", json_path_to_json(path));
    json_put_text(entry, "msg", problem->msg);
    if (input == NULL)
        json_put(entry, "input", json_null());
    else if (is_hidden)
        json_put_text(entry, "input", "<redacted>");
    else
        json_put(entry, "input", redact_copy(input));
    json_put(entry, "ctx", problem->ctx);
    json_push(problems, entry);
}

void validation_error_add_value(json_t *problems, const struct json_path *path, const char *words,
                                json_t *input)
{
    CLEANUP(strbuf_done) struct strbuf msg = STRBUF_INIT;
    json_t *ctx = json_object();

    strbuf_appendf(&msg, "Value error, %s", words);
    json_put(ctx, "error", json_object());
    validation_error_add(problems, path, &(struct validation_error){"value_error", msg.text, ctx},
                         input);
}

void validation_error_append_text(json_t *problem, struct strbuf *out)
{
    const json_t *loc = json_object_get(problem, "loc");
    size_t n_written = 0;

    for (size_t i = 0; i < json_array_size(loc); i++) {
        const json_t *step = json_array_get(loc, i);

        if (i == 0 && json_is_string(step) && text_equal(json_string_value(step), "body"))
            continue;
        if (n_written++ > 0)
            strbuf_append_char(out, '.');
        if (json_is_string(step))
            strbuf_append(out, json_string_value(step));
        else
            strbuf_appendf(out, "%lld", (long long)json_integer_value(step));
    }
    if (n_written > 0)
        strbuf_append(out, ": ");
    strbuf_append(out, json_text_or(problem, "msg", ""));
}
