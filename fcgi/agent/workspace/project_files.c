#include "fcgi/agent/workspace/project_files.h"

#include "base/error.h"
#include "base/json.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/plugins/project_files.h"

enum { READ_MS = 60000 };

int project_files_read(const struct request *request, const struct project_question *question,
                       json_t **files_out, struct error *err)
{
    json_auto_t *body = NULL;
    json_auto_t *answer = NULL;
    struct sandbox_request ask = {
        .owner = {&request->principal, NULL}, .path = PROJECT_FILES_PATH, .timeout_ms = READ_MS};

    *files_out = NULL;
    if (!project_question_asks(question)) {
        *files_out = json_array();
        return 0;
    }
    body = project_files_request(question);
    ask.body = body;
    if (sandbox_request_send(request->context, &ask, &answer, err) < 0)
        return -1;
    *files_out = json_incref(json_object_get(answer, "files"));
    if (*files_out == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's reply is not valid");
    return 0;
}
