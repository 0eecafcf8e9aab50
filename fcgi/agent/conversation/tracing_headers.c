#include "fcgi/agent/conversation/tracing_headers.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "fcgi/core/request.h"
#include "model/schema/validation_error.h"

static json_t *read_object(const char *value)
{
    json_t *object = NULL;
    struct error ignored = ERROR_INIT;

    if (json_parse(value, strlen(value), &object, &ignored) < 0 || json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

/* Those that can be wrong: no value of the tags or of the parent span's context is. */
static const struct {
    const char *param;
    const char *header;
    const char *member;
    json_t *(*read)(const char *value); /* NULL when the value is malformed */
} headers[] = {
    {"HTTP_X_OPENHANDS_OBSERVABILITY_SPAN_NAME", "x-openhands-observability-span-name",
     "observability_span_name", json_string},
    {"HTTP_X_OPENHANDS_OBSERVABILITY_METADATA", "x-openhands-observability-metadata",
     "observability_metadata", read_object},
};

int tracing_headers_read(const struct request *request, const json_t *body, json_t **tracing_out,
                         struct error *err)
{
    static const struct validation_error no_object = {"json_invalid",
                                                      "Input should be a JSON object", NULL};
    json_auto_t *tracing = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        const char *value = request_param(request, headers[i].param);
        json_t *read = NULL;

        if (value == NULL || json_object_get(body, headers[i].member) != NULL)
            continue;
        read = headers[i].read(value);
        if (read == NULL)
            return request_problem(request, REQUEST_JSON_PATH("header", headers[i].header),
                                   &no_object, NULL, err);
        json_put(tracing, headers[i].member, read);
    }
    *tracing_out = json_incref(tracing);
    return 0;
}
