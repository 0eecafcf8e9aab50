#include "gateway/errand.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "client/http.h"
#include "client/sandbox_call.h"

int errands_open(struct errands *errands, struct error *err)
{
    *errands = (struct errands){.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (errands->done_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "eventfd: %m");
    return http_open(&errands->http, err);
}

void errands_close(struct errands *errands)
{
    http_free(TAKE_PTR(errands->http));
    fd_close(&errands->done_fd);
}

bool errand_is_busy(const struct errand *errand)
{
    return errand->call != NULL;
}

void errand_adopt(struct errand *errand, struct errands *errands, struct http_call *call)
{
    errand->errands = errands;
    errand->call = call;
    errand->previous = NULL;
    errand->next = errands->first;
    if (errands->first != NULL)
        errands->first->previous = errand;
    errands->first = errand;
}

int errand_begin(struct errand *errand, struct errands *errands,
                 const struct sandbox_endpoint *endpoint, const struct http_request *request,
                 struct error *err)
{
    struct http_request told = *request;
    struct http_call *call = NULL;

    told.done_fd = errands->done_fd;
    if (sandbox_call_start(errands->http, endpoint, &told, &call, err) < 0)
        return -1;
    errand_adopt(errand, errands, call);
    return 0;
}

static struct http_call *take_call(struct errand *errand)
{
    if (errand->previous != NULL)
        errand->previous->next = errand->next;
    else
        errand->errands->first = errand->next;
    if (errand->next != NULL)
        errand->next->previous = errand->previous;
    return TAKE_PTR(errand->call);
}

void errand_drop(struct errand *errand)
{
    if (errand_is_busy(errand))
        http_call_free(take_call(errand));
}

static struct errand *find_over(const struct errands *errands)
{
    struct errand *errand = errands->first;

    while (errand != NULL && !http_is_over_within(errand->call, 0))
        errand = errand->next;
    return errand;
}

static void finish(struct errand *errand)
{
    CLEANUP(http_call_freep) struct http_call *call = take_call(errand);
    struct error err = ERROR_INIT;

    if (http_wait(call, &err) < 0)
        errand->done(errand, call, &err);
    else
        errand->done(errand, call, NULL);
}

/* A callback may drop other errands, so the search restarts. */
void errands_pump(struct errands *errands)
{
    uint64_t n = 0;

    (void)!read(errands->done_fd, &n, sizeof(n));
    for (struct errand *over = find_over(errands); over != NULL; over = find_over(errands))
        finish(over);
}
