#include "fcgi/agent/conversation/seen_calls.h"

#include <stddef.h>

#include "base/error.h"
#include "fcgi/core/request.h"
#include "model/limits.h"
#include "store/conversation/waiting_calls.h"

int seen_calls_read(const struct request *request, json_t *body, struct seen_calls *seen,
                    struct error *err)
{
    static const struct validation_error no_list = {
        "list_type", "Input should be a list of at most 1000 action ids", NULL};
    static const struct validation_error no_text = {"string_type", "Input should be a valid string",
                                                    NULL};
    json_t *ids = json_object_get(body, "action_ids");
    json_t *id = NULL;
    size_t i = 0;

    if (ids == NULL || json_is_null(ids))
        return 0;
    if (!json_is_array(ids) || json_array_size(ids) > ACTION_IDS_MAX)
        return request_problem(request, REQUEST_JSON_PATH("body", "action_ids"), &no_list, ids,
                               err);
    json_array_foreach (ids, i, id) {
        const struct json_path path = {REQUEST_JSON_PATH("body", "action_ids"), NULL,
                                       (json_int_t)i};

        if (!json_is_string(id))
            return request_problem(request, &path, &no_text, id, err);
    }
    seen->ids = ids;
    return 0;
}
