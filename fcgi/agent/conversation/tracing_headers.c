#include "fcgi/agent/conversation/observability.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/request.h"
#include "model/schema/problem.h"

#define SPAN_NAME "observability_span_name"
#define SPAN_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

enum { SPAN_NAME_MAX_CHARS = 128 };

static json_t *read_list(const char *value)
{
    json_t *list = json_array();

    while (*value != '\0') {
        size_t len = strcspn(value, ",");
        size_t blank = strspn(value, " ");
        size_t end = len;

        while (end > blank && value[end - 1] == ' ')
            end--;
        if (end > blank)
            json_push(list, json_text(value + blank, end - blank));
        value += len + (value[len] == ',' ? 1 : 0);
    }
    return list;
}

static json_t *read_object(const char *value)
{
    json_t *object = NULL;
    struct error ignored = ERROR_INIT;

    if (json_parse(value, strlen(value), &object, &ignored) < 0 || json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

static const struct {
    const char *param;
    const char *header;
    const char *member;
    json_t *(*read)(const char *value); /* NULL when the value is malformed */
} headers[] = {
    {"HTTP_X_OPENHANDS_OBSERVABILITY_SPAN_NAME", "x-openhands-observability-span-name", SPAN_NAME,
     json_string},
    {"HTTP_X_OPENHANDS_OBSERVABILITY_TAGS", "x-openhands-observability-tags", "observability_tags",
     read_list},
    {"HTTP_X_OPENHANDS_OBSERVABILITY_METADATA", "x-openhands-observability-metadata",
     "observability_metadata", read_object},
    {"HTTP_X_OPENHANDS_OBSERVABILITY_PARENT_SPAN_CONTEXT",
     "x-openhands-observability-parent-span-context", "observability_parent_span_context",
     json_string},
};

static int check_span_name(const struct request *request, json_t *body, struct error *err)
{
    static const struct problem problem = {
        "string_pattern_mismatch", "String should match pattern '^[A-Za-z0-9._:/-]+$'", NULL};
    json_t *name = json_object_get(body, SPAN_NAME);
    const char *text = json_string_value(name);

    if (text == NULL || (text[0] != '\0' && strlen(text) <= SPAN_NAME_MAX_CHARS &&
                         strspn(text, SPAN_NAME_BYTES) == strlen(text)))
        return 0;
    return request_problem(request, REQUEST_PLACE("body", SPAN_NAME), &problem, name, err);
}

int observability_fill(const struct request *request, json_t *body, struct error *err)
{
    static const struct problem no_object = {"json_invalid", "Input should be a JSON object", NULL};

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        const char *value = request_param(request, headers[i].param);
        json_t *read = NULL;

        if (value == NULL || json_object_get(body, headers[i].member) != NULL)
            continue;
        read = headers[i].read(value);
        if (read == NULL)
            return request_problem(request, REQUEST_PLACE("header", headers[i].header), &no_object,
                                   NULL, err);
        json_put(body, headers[i].member, read);
    }
    return check_span_name(request, body, err);
}
