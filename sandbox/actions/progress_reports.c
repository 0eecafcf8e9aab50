#include "sandbox/actions/progress_reports.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/tools/mcp_progress.h"
#include "sandbox/core/action_server.h"
#include "sandbox/git/credentials.h"
#include "sandbox/http/request_waiters.h"
#include "sandbox/http/server_request.h"

struct progress_reports {
    json_int_t seq; /* of the newest report; 0: none yet */
    json_t *calls;  /* the newest report of each */
    struct request_waiters waiters;
};

struct progress_reports *progress_reports_new(void)
{
    struct progress_reports *reports = NEW(struct progress_reports);

    reports->calls = json_object();
    return reports;
}

static void answer(const struct progress_reports *reports, struct server_request *request)
{
    json_auto_t *body = json_object();

    json_put(body, "seq", json_integer(reports->seq));
    json_put(body, "calls", json_deep_copy(reports->calls));
    credentials_mask_json(request->server->credentials, body);
    server_request_answer_json(request, 200, body);
}

static void answer_all(struct progress_reports *reports)
{
    struct server_request *request = request_waiters_take(&reports->waiters);

    for (; request != NULL; request = request_waiters_take(&reports->waiters))
        answer(reports, request);
}

void progress_reports_free(struct progress_reports *reports)
{
    if (reports == NULL)
        return;
    answer_all(reports);
    json_decref(reports->calls);
    mem_free(reports);
}

void progress_reports_note(struct progress_reports *reports, const char *action_id,
                           const struct mcp_progress *report)
{
    json_t *json = mcp_progress_to_json(report);

    json_put(json, "seq", json_integer(++reports->seq));
    json_put(reports->calls, action_id, json);
    answer_all(reports);
}

void progress_reports_forget(struct progress_reports *reports, const char *action_id)
{
    (void)json_object_del(reports->calls, action_id);
}

int progress_reports_wait(struct progress_reports *reports, int64_t after,
                          struct server_request *request, struct error *err)
{
    if (after == reports->seq)
        return request_waiters_add(&reports->waiters, request, err);
    answer(reports, request);
    return 0;
}
