#include "sandbox/http/validation.h"

#include "base/json.h"
#include "sandbox/http/server_request.h"

void validation_answer(struct server_request *request, const char *type, const char *place,
                       const char *name, const char *message)
{
    json_auto_t *body = json_object();
    json_t *detail = json_array();
    json_t *problem = json_object();
    json_t *where = json_array();

    json_push(where, json_text_of(place));
    if (name != NULL)
        json_push(where, json_text_of(name));
    json_put_text(problem, "type", type);
    json_put(problem, "loc", where);
    json_put_text(problem, "msg", message);
    json_put(problem, "input", json_null());
    json_push(detail, problem);
    json_put(body, "detail", detail);
    server_request_answer_json(request, 422, body);
}
