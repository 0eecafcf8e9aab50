#include "fcgi/listeners.h"

#include <assert.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "client/http.h"
#include "fcgi/core/dispatch.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"
#include "web/fastcgi_server.h"

/* GRACE_MS: time for requests in progress to complete at shutdown. */
enum { GRACE_MS = 2000, PROBE_THREADS = 4 };

/* nginx runs in the socket's group. */
#define SOCKET_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP)

/*
 * nginx chooses the socket by the kind of request, so that no kind can take all threads: slow
 * clients or sandboxes block only threads of their own kind.
 */
struct listeners {
    const struct fcgi_context *context;
    struct fastcgi_server *server;
    struct fastcgi_listener items[FASTCGI_LISTENERS_MAX];
    /* Copies of the process's context, each with the wait slots of its listener. */
    struct fcgi_context contexts[FASTCGI_LISTENERS_MAX];
    size_t n;
};

static void serve_request(void *context, const struct request_input *input,
                          const struct reply_output *output)
{
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;

    reply.output = output;
    dispatch(context, input, &reply);
}

static void add_listener(struct listeners *listeners, const char *path, int64_t n_threads,
                         int64_t n_slots)
{
    struct fcgi_context *context = &listeners->contexts[listeners->n];

    if (path[0] == '\0')
        return;
    assert(listeners->n < FASTCGI_LISTENERS_MAX);
    *context = *listeners->context;
    context->wait_slots = wait_slots_new((size_t)n_slots);
    listeners->items[listeners->n++] = (struct fastcgi_listener){.path = path,
                                                                 .n_threads = n_threads,
                                                                 .mode = SOCKET_MODE,
                                                                 .serve = serve_request,
                                                                 .context = context};
}

static void add_listeners(struct listeners *listeners)
{
    const struct fcgi_settings *settings = listeners->context->settings;

    add_listener(listeners, settings->socket_path, settings->n_threads,
                 (settings->n_threads + 1) / 2);
    add_listener(listeners, settings->sandbox_socket_path, settings->n_sandbox_threads,
                 settings->n_sandbox_threads);
    add_listener(listeners, settings->stream_socket_path, settings->n_stream_threads,
                 settings->n_stream_threads);
    add_listener(listeners, settings->probe_socket_path, PROBE_THREADS, PROBE_THREADS);
}

/* On failure nothing is freed: threads may run already, and the caller ends the process. */
int listeners_start(const struct fcgi_context *context, struct listeners **listeners_out,
                    struct error *err)
{
    struct listeners *listeners = NEW(struct listeners);

    listeners->context = context;
    add_listeners(listeners);
    if (fastcgi_server_start(listeners->items, listeners->n, context->crash, &listeners->server,
                             err) < 0)
        return -1;
    *listeners_out = listeners;
    return 0;
}

int listeners_stop(struct listeners *listeners, int64_t deadline_ms, struct error *err)
{
    size_t n_left = 0;

    fastcgi_server_close(listeners->server);
    n_left = fastcgi_server_wait(listeners->server, clock_monotonic_ms() + GRACE_MS);
    /* Requests that still wait for another service, such as a model, are cancelled and answered. */
    if (n_left > 0) {
        http_cancel_all(listeners->context->http);
        n_left = fastcgi_server_wait(listeners->server, deadline_ms);
    }
    if (n_left > 0)
        return error_set(err, ERROR_TIMEOUT, "%zu requests were still running", n_left);
    fastcgi_server_free(listeners->server);
    for (size_t i = 0; i < listeners->n; i++)
        wait_slots_free(listeners->contexts[i].wait_slots);
    mem_free(listeners);
    return 0;
}
