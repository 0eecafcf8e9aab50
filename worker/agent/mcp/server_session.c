#include "worker/agent/mcp/server_session.h"

#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/mcp_session.h"
#include "model/conversation/conversation.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/mcp/server_connection.h"
#include "worker/context.h"

/* What the session is sealed to. */
static void append_context(const struct agent *agent, const struct server_connection *connection,
                           struct strbuf *out)
{
    json_auto_t *server = json_deep_copy(connection->server);
    CLEANUP(mem_freep) char *text = NULL;
    char hash[CRYPTO_HASH_HEX_BYTES];

    (void)json_object_del(json_object_get(server, "auth"), "state");
    text = json_to_text(server);
    crypto_sha256_hex(text, strlen(text), hash);
    explicit_bzero(text, strlen(text));
    strbuf_appendf(out, "conversations.server_sessions:%s:%s:%s", agent->lease.conversation_id.text,
                   hash, connection->name);
}

static json_t *open_kept(const struct agent *agent, const struct server_connection *connection)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    const char *sealed =
        json_text_or(json_object_get(agent->conversation.agent_state, AGENT_STATE_SERVER_SESSIONS),
                     connection->name, NULL);
    json_t *kept = NULL;
    struct error ignored = ERROR_INIT;

    if (sealed == NULL)
        return NULL;
    append_context(agent, connection, &context);
    if (keyring_open(&agent->context->keyring, context.text, sealed, &plain, &ignored) < 0)
        return NULL;
    error_ignore(json_parse(secret_reveal(&plain), plain.len, &kept, &ignored),
                 "another session is made");
    return kept;
}

void server_session_restore(const struct agent *agent, struct server_connection *connection)
{
    json_auto_t *kept = NULL;
    struct error ignored = ERROR_INIT;

    if (connection->transport != MCP_STREAMABLE_HTTP)
        return;
    kept = open_kept(agent, connection);
    if (kept == NULL || server_connection_resume(connection, kept, &ignored) < 0)
        return;
    connection->kept = json_incref(kept);
}

/* The sealed session, a new reference. */
static json_t *seal(const struct agent *agent, const struct server_connection *connection)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(connection->kept);

    secret_set(&plain, text);
    append_context(agent, connection, &context);
    keyring_seal(&agent->context->keyring, context.text, &plain, &sealed);
    return json_text(sealed.text, sealed.len);
}

bool server_session_keep(struct agent *agent, struct server_connection *connection)
{
    json_t *state = agent->conversation.agent_state;
    json_auto_t *now = NULL;

    if (connection->transport != MCP_STREAMABLE_HTTP || !connection->is_greeted)
        return false;
    now = mcp_session_to_json(connection->session);
    if (now == NULL || json_equal(now, connection->kept))
        return false;
    json_decref(connection->kept);
    connection->kept = json_incref(now);
    json_put(json_need_object(state, AGENT_STATE_SERVER_SESSIONS), connection->name,
             seal(agent, connection));
    return true;
}
