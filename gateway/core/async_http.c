#include "gateway/core/async_http.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "client/http.h"
#include "client/sandbox_call.h"

int async_http_open(struct async_http *http, struct error *err)
{
    *http = (struct async_http){.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (http->done_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "eventfd: %m");
    return http_open(&http->http, err);
}

void async_http_close(struct async_http *http)
{
    http_free(TAKE_PTR(http->http));
    fd_close(&http->done_fd);
}

bool async_call_is_busy(const struct async_call *call)
{
    return call->call != NULL;
}

void async_call_adopt(struct async_call *call, struct async_http *http, struct http_call *started)
{
    call->call = started;
    LIST_INSERT_HEAD(&http->calls, call, link);
}

int async_call_begin(struct async_call *call, struct async_http *http,
                     const struct sandbox_endpoint *endpoint, const struct http_request *request,
                     struct error *err)
{
    struct http_request told = *request;
    struct http_call *started = NULL;

    told.done_fd = http->done_fd;
    if (sandbox_call_start(http->http, endpoint, &told, &started, err) < 0)
        return -1;
    async_call_adopt(call, http, started);
    return 0;
}

static struct http_call *take_call(struct async_call *call)
{
    LIST_REMOVE(call, link);
    return TAKE_PTR(call->call);
}

void async_call_drop(struct async_call *call)
{
    if (async_call_is_busy(call))
        http_call_free(take_call(call));
}

static struct async_call *find_over(const struct async_http *http)
{
    struct async_call *call = LIST_FIRST(&http->calls);

    while (call != NULL && !http_is_over_within(call->call, 0))
        call = LIST_NEXT(call, link);
    return call;
}

static void finish(struct async_call *call)
{
    CLEANUP(http_call_freep) struct http_call *answer = take_call(call);
    struct error err = ERROR_INIT;

    if (http_wait(answer, &err) < 0)
        call->done(call, answer, &err);
    else
        call->done(call, answer, NULL);
}

/* A callback may drop other calls, so the search restarts. */
void async_http_pump(struct async_http *http)
{
    uint64_t n = 0;

    (void)!read(http->done_fd, &n, sizeof(n));
    for (struct async_call *over = find_over(http); over != NULL; over = find_over(http))
        finish(over);
}
