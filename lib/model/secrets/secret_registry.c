#include "model/secrets/secret_registry.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/start_fields.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_length.h"
#include "model/secrets/secret_places.h"

/* Returns the source of a secret that is stored here; its text goes to values. */
static json_t *static_source(const char *name, const char *text, const char *description,
                             json_t *values)
{
    json_t *source = json_object();
    bool is_known = text != NULL && text_equal(text, secret_marker);
    bool is_given = text != NULL && !is_known && !text_is_blank(text);

    if (is_given)
        json_put_text(values, name, text);
    else if (!is_known)
        (void)json_object_del(values, name);
    json_put(source, "description", json_text_of(description));
    if (is_given || json_object_get(values, name) != NULL)
        json_put_text(source, "value", secret_marker);
    else
        json_put(source, "value", json_null());
    json_put_text(source, "kind", "StaticSecret");
    return source;
}

static json_t *source_read(const char *name, json_t *input, json_t *values,
                           const struct json_path *path, json_t *problems)
{
    json_auto_t *source = NULL;

    if (json_is_null(input))
        return static_source(name, NULL, NULL, values);
    if (json_is_string(input))
        return static_source(name, json_string_value(input), NULL, values);
    source = object_schema_read(&secret_source_schema, input, path, problems);
    if (text_equal(json_text_or(source, "kind", ""), "StaticSecret"))
        return static_source(name, json_text_or(source, "value", NULL),
                             json_text_or(source, "description", NULL), values);
    if (json_object_get(source, "kind") != NULL && json_object_get(source, "url") == NULL)
        validation_error_add_value(problems, path, "a LookupSecret has a url", input);
    (void)json_object_del(source, "value");
    (void)json_object_del(values, name);
    return json_incref(source);
}

void secret_registry_update(json_t *sources, json_t *values, json_t *update,
                            const struct json_path *path, json_t *problems)
{
    const char *name = NULL;
    json_t *input = NULL;

    json_object_foreach (update, name, input) {
        struct json_path at = {path, name, 0};

        json_put(sources, name, source_read(name, input, values, &at, problems));
    }
}

void secret_registry_refuse_nulls(json_t *update, const struct json_path *path, json_t *problems)
{
    const char *name = NULL;
    json_t *input = NULL;

    json_object_foreach (update, name, input) {
        struct json_path at = {path, name, 0};

        if (json_is_null(input))
            validation_error_add(problems, &at,
                                 &(struct validation_error){
                                     "model_attributes_type",
                                     "Input should be a valid dictionary or object to extract "
                                     "fields from",
                                     NULL},
                                 input);
    }
}

void secret_registry_append_unmasked(const json_t *update, struct strbuf *out)
{
    size_t begin = out->len;
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach ((json_t *)(uintptr_t)update, name, source) {
        const char *value =
            json_is_string(source) ? json_string_value(source) : json_text_or(source, "value", "");

        if (!text_is_blank(value) && !secret_is_masked(value))
            strbuf_appendf(out, "%s%s", out->len > begin ? ", " : "", name);
    }
}

const char *secret_source_stored_name(const json_t *source)
{
    static const char prefix[] = "/api/settings/secrets/";
    const char *url = json_text_or(source, "url", "");
    const char *name = NULL;

    if (!text_starts_with(url, prefix))
        return NULL;
    name = url + strlen(prefix);
    return name[0] != '\0' && strpbrk(name, "/?#%") == NULL ? name : NULL;
}
