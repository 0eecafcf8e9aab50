#include "client/mcp_session.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mcp.h"
#include "model/tools/mcp.h"

enum {
    PAGES_MAX = 20,
    LIST_MAX_BYTES = 4 * 1024 * 1024,
    FAREWELL_MS = 1000,
    SHARED_IDS = 8,
    KEPT_NAME_MAX_BYTES = 1024,
    US_PER_MS = 1000
};

struct mcp_session {
    struct mcp *mcp;
    json_int_t last_id;
    bool is_intact; /* see mcp_session_is_intact() */
};

void mcp_session_free(struct mcp_session *session)
{
    if (session == NULL)
        return;
    mcp_free(session->mcp);
    mem_free(session);
}

void mcp_session_freep(struct mcp_session **session)
{
    mcp_session_free(*session);
    *session = NULL;
}

bool mcp_session_is_intact(const struct mcp_session *session)
{
    return session->is_intact && mcp_is_connected(session->mcp);
}

struct mcp *mcp_session_connection(struct mcp_session *session)
{
    return session->mcp;
}

static int ask_connection(struct mcp *mcp, const json_t *request,
                          const struct mcp_progress_watch *watch, json_t **reply_out,
                          struct error *err)
{
    return watch != NULL ? mcp_ask_watching(mcp, request, watch, reply_out, err)
                         : mcp_ask(mcp, request, reply_out, err);
}

/* Sends a request, which is released; result_out is borrowed from the reply. watch may be NULL. */
static int ask(struct mcp_session *session, json_t *message, const struct mcp_progress_watch *watch,
               json_t **reply_out, const json_t **result_out, struct error *err)
{
    json_auto_t *request = message;

    session->is_intact = false;
    if (ask_connection(session->mcp, request, watch, reply_out, err) < 0) {
        session->is_intact = err->code == ERROR_TIMEOUT || err->code == ERROR_UNAUTHENTICATED;
        return -1;
    }
    session->is_intact = true;
    return mcp_result(*reply_out, result_out, err);
}

/* A revision of the protocol is named by its date. */
static bool is_version(const char *text)
{
    return strlen(text) == strlen(MCP_VERSION) && text[strspn(text, "0123456789-")] == '\0';
}

static int greet(struct mcp_session *session, struct error *err)
{
    json_auto_t *initialized = mcp_initialized();
    json_auto_t *reply = NULL;
    const json_t *result = NULL;
    const char *version = NULL;

    if (ask(session, mcp_initialize(++session->last_id), NULL, &reply, &result, err) < 0)
        return -1;
    version = json_text_or(result, "protocolVersion", MCP_VERSION);
    if (!is_version(version))
        return error_set(err, ERROR_INVALID, "The server names no revision of the protocol");
    mcp_set_version(session->mcp, version);
    return mcp_tell(session->mcp, initialized, err);
}

struct mcp_session *mcp_session_new(const struct mcp_options *options)
{
    struct mcp_session *session = NEW(struct mcp_session);

    session->mcp = mcp_new(options);
    return session;
}

struct mcp_session *mcp_session_share(struct mcp_session *with, const struct mcp_options *options)
{
    struct mcp_session *session = mcp_session_new(options);

    mcp_set_session(session->mcp, mcp_session_name(with->mcp));
    if (mcp_version(with->mcp) != NULL)
        mcp_set_version(session->mcp, mcp_version(with->mcp));
    session->last_id = with->last_id;
    with->last_id += SHARED_IDS;
    session->is_intact = with->is_intact;
    return session;
}

json_t *mcp_session_to_json(const struct mcp_session *session)
{
    const char *name = mcp_session_name(session->mcp);
    json_t *kept = NULL;

    if (name == NULL || strlen(name) > KEPT_NAME_MAX_BYTES)
        return NULL;
    kept = json_object();
    json_put_text(kept, "session", name);
    json_put_text(kept, "version", mcp_version(session->mcp));
    return kept;
}

struct mcp_session *mcp_session_resume(const struct mcp_options *options, const json_t *kept)
{
    struct mcp_session *session = mcp_session_new(options);

    mcp_set_session(session->mcp, json_text_or(kept, "session", NULL));
    mcp_set_version(session->mcp, json_text_or(kept, "version", MCP_VERSION));
    /* A session's ids must not come twice, and how many were used is not known. */
    session->last_id = clock_utc_us() / US_PER_MS;
    session->is_intact = true;
    return session;
}

int mcp_session_begin(struct mcp_session *session, struct error *err)
{
    return mcp_connect(session->mcp, err) == 0 ? greet(session, err) : -1;
}

int mcp_session_list(struct mcp_session *session, json_t *tools, struct error *err)
{
    CLEANUP(mem_freep) char *cursor = NULL;
    size_t n_bytes = 0;

    for (int page = 0; page < PAGES_MAX; page++) {
        json_auto_t *reply = NULL;
        const json_t *result = NULL;
        const char *next = NULL;

        if (ask(session, mcp_list_tools(++session->last_id, cursor), NULL, &reply, &result, err) <
            0)
            return -1;
        mcp_add_tools(result, tools);
        next = json_text_or(result, "nextCursor", NULL);
        n_bytes += json_dumpb(result, NULL, 0, JSON_COMPACT);
        if (next == NULL || n_bytes > LIST_MAX_BYTES)
            return 0;
        mem_free(cursor);
        cursor = mem_dup_text(next);
    }
    return 0;
}

int mcp_session_call(struct mcp_session *session, const char *tool, json_t *arguments,
                     const struct mcp_progress_watch *watch, json_t **result_out, struct error *err)
{
    json_auto_t *reply = NULL;
    const json_t *result = NULL;

    if (ask(session, mcp_call_tool(++session->last_id, tool, arguments), watch, &reply, &result,
            err) < 0)
        return -1;
    *result_out = json_incref(json_object_get(reply, "result"));
    return 0;
}

void mcp_session_tell_cancelled(struct mcp_session *session)
{
    json_auto_t *message = mcp_cancelled(session->last_id);
    struct error err = ERROR_INIT;

    if (session->last_id == 0)
        return;
    mcp_resume(session->mcp, FAREWELL_MS);
    if (mcp_tell(session->mcp, message, &err) < 0)
        log_debug("mcp.cancellation_not_told", LOG_ERROR(&err));
}
