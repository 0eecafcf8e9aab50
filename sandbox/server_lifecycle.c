#include "sandbox/server_lifecycle.h"

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/action_routes.h"
#include "sandbox/actions/actions.h"
#include "sandbox/actions/journal.h"
#include "sandbox/actions/tool_session.h"
#include "sandbox/bash/bash.h"
#include "sandbox/bash/bash_waits.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/git/credential_socket.h"
#include "sandbox/git/credentials.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/http_server.h"
#include "sandbox/http/listen_socket.h"
#include "sandbox/legacy/legacy_actions.h"
#include "sandbox/ports/mcp_programs.h"
#include "sandbox/ports/preview_listener.h"

static const char lost_reason[] = "The sandbox server was restarted while the action ran.";

/* Without this socket git gets no credentials; everything else works. */
static void open_credential_socket(struct action_server *server)
{
    struct error err = ERROR_INIT;

    if (credential_socket_open(server->loop, server->credentials, &server->credential_socket,
                               &err) < 0)
        log_warning("credentials.socket_failed", LOG_ERROR(&err));
}

static int open_preview_listener(struct action_server *server, struct error *err)
{
    int fd = -1;

    if (server->config->preview_socket == 0)
        return 0;
    if (listen_socket_inherit(server->config->preview_socket, &fd, err) < 0)
        return error_wrap(err, "DEFT_ACTION_PREVIEW_SOCKET");
    return preview_listener_open(server->loop, fd, &server->preview_listener, err);
}

int server_lifecycle_begin(struct action_server *server, struct http_server **http_out,
                           struct error *err)
{
    CLEANUP(mem_freep) char *lost = action_interrupted_body(lost_reason);

    if (event_loop_new(&server->loop, err) < 0)
        return -1;
    if (open_preview_listener(server, err) < 0 ||
        http_server_new(server, server->loop, server->config, &action_routes, http_out, err) < 0) {
        preview_listener_close(server->preview_listener);
        event_loop_free(server->loop);
        return -1;
    }
    server->credentials = credentials_new();
    open_credential_socket(server);
    server->journal = journal_open(server->config->journal_dir, lost);
    server->mcp_programs = mcp_programs_new(server->loop, server->config);
    server->actions = actions_new(server);
    server->legacy = legacy_actions_new(server);
    server->bash = bash_new(server);
    server->bash_waits = bash_waits_new(server->loop, bash_events_of(server->bash));
    server->forks = fork_requests_new(server->loop);
    return 0;
}

void server_lifecycle_end(struct action_server *server, struct http_server *http)
{
    http_server_free(http);
    actions_free(server->actions);
    mcp_programs_free(server->mcp_programs);
    legacy_actions_free(server->legacy);
    bash_waits_free(server->bash_waits);
    bash_free(server->bash);
    fork_requests_free(server->forks);
    journal_close(server->journal);
    credential_socket_close(server->credential_socket);
    preview_listener_close(server->preview_listener);
    credentials_free(server->credentials);
    event_loop_free(server->loop);
}
