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
#include "base/text.h"
#include "base/uuid.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/conversation/conversation.h"
#include "model/tools/mcp_config.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/mcp/server_connection.h"
#include "worker/agent/mcp/server_token.h"
#include "worker/context.h"

/* --- sealing --- */

static void append_context(const struct uuid *conversation_id, const char *server,
                           struct strbuf *out)
{
    strbuf_appendf(out, "conversations.server_sessions:%s:%s", conversation_id->text, server);
}

/* The hash of a server's configuration without its tokens, which change. */
static void hash_config(const struct server_connection *connection,
                        char hash[CRYPTO_HASH_HEX_BYTES])
{
    json_auto_t *server = json_deep_copy(connection->server);
    CLEANUP(mem_freep) char *text = NULL;

    (void)json_object_del(json_object_get(server, "auth"), "state");
    text = json_to_text(server);
    crypto_sha256_hex(text, strlen(text), hash);
    explicit_bzero(text, strlen(text));
}

/* What is needed to continue the session and to end it. A new reference. */
static json_t *describe(const struct server_connection *connection)
{
    static const char *const members[] = {"url", "headers", "auth"};
    char hash[CRYPTO_HASH_HEX_BYTES];
    json_t *description = json_object();
    json_t *server = json_need_object(description, "server");

    hash_config(connection, hash);
    json_put(description, "session", json_incref(connection->kept));
    json_put_text(description, "config", hash);
    json_put_text(description, "user", connection->user_id.text);
    json_put(description, "is_of_sandbox",
             json_boolean(connection->address_of == ADDRESS_OF_SANDBOX));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(server, members[i], json_incref(json_object_get(connection->server, members[i])));
    return description;
}

/* The sealed description, a new reference. */
static json_t *seal(const struct agent *agent, const struct server_connection *connection)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    json_auto_t *description = describe(connection);
    CLEANUP(mem_freep) char *text = json_to_text(description);

    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    append_context(&agent->lease.conversation_id, connection->name, &context);
    keyring_seal(&agent->context->keyring, context.text, &plain, &sealed);
    return json_text(sealed.text, sealed.len);
}

static int open_sealed(const struct ended_session *kept, json_t **description_out,
                       struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    append_context(kept->conversation_id, kept->server, &context);
    if (keyring_open(&kept->context->keyring, context.text, kept->sealed, &plain, err) < 0)
        return -1;
    return json_parse(secret_reveal(&plain), plain.len, description_out, err);
}

/* --- in runs --- */

static json_t *sessions_of(const struct agent *agent)
{
    return json_object_get(agent->conversation.agent_state, AGENT_STATE_SERVER_SESSIONS);
}

void server_session_restore(const struct agent *agent, struct server_connection *connection)
{
    const struct ended_session kept = {agent->context, &agent->lease.conversation_id,
                                       connection->name,
                                       json_text_or(sessions_of(agent), connection->name, "")};
    json_auto_t *description = NULL;
    json_t *session = NULL;
    char hash[CRYPTO_HASH_HEX_BYTES];
    struct error ignored = ERROR_INIT;

    if (connection->transport != MCP_STREAMABLE_HTTP ||
        open_sealed(&kept, &description, &ignored) < 0)
        return;
    hash_config(connection, hash);
    session = json_object_get(description, "session");
    if (!text_equal(json_text_or(description, "config", ""), hash) ||
        server_connection_resume(connection, session, &ignored) < 0)
        return;
    connection->kept = json_incref(session);
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

/* --- in jobs --- */

static int end_described(const struct ended_session *ended, const json_t *description,
                         int64_t timeout_ms, struct error *err)
{
    bool is_of_sandbox = json_bool_or(description, "is_of_sandbox", 1) != 0;
    CLEANUP(server_connection_done) struct server_connection connection = {
        .context = ended->context,
        .address_of = is_of_sandbox ? ADDRESS_OF_SANDBOX : ADDRESS_OF_USER,
        .name = ended->server,
        .server = json_incref(json_object_get(description, "server")),
        .transport = MCP_STREAMABLE_HTTP,
    };

    cancel_init(&connection.cancel);
    if (!uuid_parse(json_text_or(description, "user", ""), &connection.user_id))
        return error_set(err, ERROR_INVALID, "The session does not say whose it is");
    if (server_token_settle(&connection, err) < 0 ||
        server_connection_resume(&connection, json_object_get(description, "session"), err) < 0)
        return -1;
    mcp_set_timeout(mcp_session_connection(connection.session), timeout_ms);
    return mcp_end(mcp_session_connection(connection.session), err);
}

int server_session_end(const struct ended_session *ended, int64_t timeout_ms, struct error *err)
{
    json_auto_t *description = NULL;

    if (open_sealed(ended, &description, err) < 0)
        return -1;
    return end_described(ended, description, timeout_ms, err);
}
