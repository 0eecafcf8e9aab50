/*
 * Tells MCP servers that sessions of a conversation have ended: it was deleted, or its servers are
 * configured otherwise now.
 *
 * Nothing depends on it: a server that does not hear of it forgets the session in its own time. A
 * job that another worker takes over ends sessions again, which servers ignore.
 *
 * Decision: docs/decisions/0099-living-mcp-servers.md
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "store/conversation/job_store.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/mcp/server_session.h"
#include "worker/jobs/job.h"

/* For one server, and for all of them together. */
enum { SERVER_MS = 5000, ALL_MS = 20000 };

int job_end_sessions(struct worker_context *context, struct run_control *control,
                     const struct job *job, struct error *err)
{
    json_t *sessions = json_object_get(job->payload, "sessions");
    int64_t until_ms = clock_monotonic_ms() + ALL_MS;
    const char *name = NULL;
    json_t *sealed = NULL;

    json_object_foreach (sessions, name, sealed) {
        const struct ended_session ended = {context, &job->conversation_id, name,
                                            json_is_string(sealed) ? json_string_value(sealed)
                                                                   : ""};
        struct error why = ERROR_INIT;

        if (run_control_stop(control) != STOP_NONE)
            return error_set(err, ERROR_CANCELLED, "the worker stops");
        if (clock_monotonic_ms() >= until_ms)
            return 0;
        if (server_session_end(&ended, SERVER_MS, &why) < 0)
            log_info("mcp.session_not_ended", LOG_STR("server", name), LOG_ERROR(&why));
    }
    return 0;
}
