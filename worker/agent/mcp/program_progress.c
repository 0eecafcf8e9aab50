#include "worker/agent/mcp/program_progress.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http.h"
#include "model/tools/mcp_progress.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/mcp/progress_notice.h"
#include "worker/agent/sandbox/sandbox.h"

void program_progress_done(struct program_progress *progress)
{
    http_call_free(TAKE_PTR(progress->request));
}

void program_progress_add(struct program_progress *progress, size_t action)
{
    if (progress->n_actions < TOOL_CONCURRENCY_MAX)
        progress->actions[progress->n_actions++] = action;
}

void program_progress_remove(struct program_progress *progress, size_t action)
{
    for (size_t i = 0; i < progress->n_actions; i++) {
        if (progress->actions[i] == action)
            progress->actions[i--] = progress->actions[--progress->n_actions];
    }
}

/* Tells of the calls with a report after that one. */
static void tell_since(const struct program_progress *progress, const json_t *calls, int64_t seq)
{
    const struct history *history = &progress->agent->history;

    for (size_t i = 0; i < progress->n_actions; i++) {
        const json_t *report = json_object_get(calls, history->items[progress->actions[i]].id.text);
        struct mcp_progress read = {.message = ""};

        if (json_int_or(report, "seq", 0) > seq && mcp_progress_read(report, &read))
            progress_notice_send(progress->agent, progress->actions[i], &read);
    }
}

static int take_reply(struct program_progress *progress, struct http_call *call, struct error *err)
{
    json_auto_t *reply = NULL;
    int64_t seq = 0;

    if (http_wait(call, err) < 0 || sandbox_ask_read(call, &reply, err) < 0)
        return -1;
    seq = json_int_or(reply, "seq", -1);
    if (seq < 0)
        return error_set(err, ERROR_INVALID, "the sandbox's reply has no seq");
    /* A server that was started again counts anew. */
    tell_since(progress, json_object_get(reply, "calls"), seq < progress->seq ? 0 : progress->seq);
    progress->seq = seq;
    return 0;
}

/* A sandbox of an older release, for one, does not tell: the calls go on without. */
static void note_failure(struct program_progress *progress, const struct error *err)
{
    progress->is_unknown = true;
    log_debug("mcp.no_progress", LOG_ERROR(err));
}

static void end_request(struct program_progress *progress, int64_t now_ms)
{
    CLEANUP(http_call_freep) struct http_call *call = TAKE_PTR(progress->request);
    struct error err = ERROR_INIT;

    progress->due_ms = now_ms + PROGRESS_NOTICE_MS;
    if (take_reply(progress, call, &err) < 0)
        note_failure(progress, &err);
}

static void ask(struct program_progress *progress)
{
    struct error err = ERROR_INIT;

    if (sandbox_ask_progress(progress->agent->sandbox, progress->seq, &progress->request, &err) < 0)
        note_failure(progress, &err);
}

int64_t program_progress_settle(struct program_progress *progress, int64_t now_ms)
{
    if (progress->n_actions == 0 || progress->is_unknown)
        return PROGRESS_NEVER_MS;
    if (progress->due_ms == 0)
        progress->due_ms = now_ms + PROGRESS_NOTICE_MS;
    if (progress->request != NULL && http_is_over_within(progress->request, 0))
        end_request(progress, now_ms);
    if (progress->request != NULL || progress->is_unknown)
        return PROGRESS_NEVER_MS;
    if (now_ms < progress->due_ms)
        return progress->due_ms - now_ms;
    ask(progress);
    return PROGRESS_NEVER_MS;
}
