#include "runtime/bwrap/box_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/host_prepare.h"

#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 5000

static void wake(const struct bwrap_host *host)
{
    const uint64_t one = 1;

    (void)!write(host->wake_fd, &one, sizeof(one));
}

static void watch(struct bwrap_host *host, const char *box, struct watched_box watched)
{
    (void)snprintf(watched.box, sizeof(watched.box), "%s", box);
    lock_take(&host->lock);
    host->watched = mem_resize(host->watched, (host->n_watched + 1) * sizeof(host->watched[0]));
    host->watched[host->n_watched++] = watched;
    lock_release(&host->lock);
    wake(host);
}

void box_watch_child(struct bwrap_host *host, const char *box, int pidfd)
{
    watch(host, box, (struct watched_box){.pidfd = pidfd, .is_child = true});
}

static bool is_watched(struct bwrap_host *host, const char *box)
{
    bool is = false;

    lock_take(&host->lock);
    for (size_t i = 0; i < host->n_watched; i++)
        is = is || text_equal(host->watched[i].box, box);
    lock_release(&host->lock);
    return is;
}

/* For a sandbox that we did not start: the guardian, which writes why it ended, or, if that was
 * killed, the first process. */
static int open_followed(const struct bwrap_host *host, const char *box, int pidfd)
{
    CLEANUP(fd_close) int own = pidfd;
    CLEANUP(fd_close) int guardian = -1;
    struct error ended = ERROR_INIT;
    pid_t pid = 0;

    if (box_open_guardian(host, box, &guardian, &pid, &ended) == 0)
        return fd_take(&guardian);
    return fd_take(&own);
}

/* Follows the sandboxes of an earlier process. */
static int find_all(struct bwrap_host *host, struct error *err)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    if (box_list(host, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        const char *box = list.items[i].container_id;
        struct error ended = ERROR_INIT;
        int pidfd = -1;
        pid_t pid = 0;

        if (list.items[i].state != SEEN_ENDED && !is_watched(host, box) &&
            box_open(host, box, &pidfd, &pid, &ended) == 0)
            watch(host, box, (struct watched_box){.pidfd = open_followed(host, box, pidfd)});
    }
    return 0;
}

static bool is_stopping(struct bwrap_host *host)
{
    bool is = false;

    lock_take(&host->lock);
    is = host->is_stopping;
    lock_release(&host->lock);
    return is;
}

static void set_state(struct bwrap_host *host, const struct error *state)
{
    lock_take(&host->lock);
    host->state = *state;
    lock_release(&host->lock);
}

/* All descriptors to poll: the wake-up first. The caller frees. */
static struct pollfd *gather(struct bwrap_host *host, size_t *n_out)
{
    struct pollfd *polled = NULL;

    lock_take(&host->lock);
    polled = mem_alloc_array(host->n_watched + 1, sizeof(*polled));
    polled[0] = (struct pollfd){.fd = host->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < host->n_watched; i++)
        polled[i + 1] = (struct pollfd){.fd = host->watched[i].pidfd, .events = POLLIN};
    *n_out = host->n_watched + 1;
    lock_release(&host->lock);
    return polled;
}

static bool take_out(struct bwrap_host *host, int pidfd, struct watched_box *watched_out)
{
    bool is_there = false;

    lock_take(&host->lock);
    for (size_t i = 0; i < host->n_watched && !is_there; i++) {
        if (host->watched[i].pidfd != pidfd)
            continue;
        *watched_out = host->watched[i];
        host->watched[i] = host->watched[--host->n_watched];
        is_there = true;
    }
    lock_release(&host->lock);
    return is_there;
}

static void report_end(struct bwrap_host *host, int pidfd, const struct backend_event_sink *sink)
{
    struct watched_box watched = {.pidfd = -1};
    struct backend_event event = {.kind = BACKEND_EVENT_ENDED};

    if (!take_out(host, pidfd, &watched))
        return;
    if (watched.is_child)
        (void)waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){.si_pid = 0}, WEXITED | WNOHANG);
    fd_close(&watched.pidfd);
    (void)snprintf(event.container_id, sizeof(event.container_id), "%s", watched.box);
    (void)snprintf(event.runtime_id, sizeof(event.runtime_id), "%.*s",
                   (int)strcspn(watched.box, "-"), watched.box);
    event.exit_code = box_exit_code(host, watched.box);
    sink->event(sink->context, &event);
}

static void drain(const struct bwrap_host *host)
{
    uint64_t n = 0;

    (void)!read(host->wake_fd, &n, sizeof(n));
}

static void report_ends(struct bwrap_host *host, const struct pollfd *polled, size_t n,
                        const struct backend_event_sink *sink)
{
    drain(host);
    for (size_t i = 1; i < n; i++) {
        if (polled[i].revents != 0)
            report_end(host, polled[i].fd, sink);
    }
}

static void watch_all(struct bwrap_host *host, const struct backend_event_sink *sink)
{
    while (!is_stopping(host)) {
        size_t n = 0;
        struct pollfd *polled = gather(host, &n);

        if (poll(polled, (nfds_t)n, -1) > 0)
            report_ends(host, polled, n, sink);
        mem_free(polled);
    }
}

static void pause_until_retry(struct bwrap_host *host, int64_t delay_ms)
{
    struct pollfd polled = {.fd = host->wake_fd, .events = POLLIN};

    if (poll(&polled, 1, (int)delay_ms) > 0)
        drain(host);
}

void box_follow_events(struct bwrap_host *host, const struct backend_event_sink *sink)
{
    int64_t delay_ms = RETRY_FIRST_MS;

    while (!is_stopping(host)) {
        struct error err = ERROR_INIT;

        if (host_prepare(host, &err) == 0 && find_all(host, &err) == 0) {
            set_state(host, &err);
            sink->up(sink->context);
            watch_all(host, sink);
            return;
        }
        set_state(host, &err);
        sink->down(sink->context, &err);
        pause_until_retry(host, delay_ms);
        delay_ms = 2 * delay_ms < RETRY_MAX_MS ? 2 * delay_ms : RETRY_MAX_MS;
    }
}

void box_stop_following(struct bwrap_host *host)
{
    lock_take(&host->lock);
    host->is_stopping = true;
    lock_release(&host->lock);
    wake(host);
}
