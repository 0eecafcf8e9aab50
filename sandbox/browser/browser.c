#include "sandbox/browser/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/browser_tools.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/driver_process.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"

enum {
    CHUNK_BYTES = 64 * 1024,
    MAX_ANSWER_BYTES = 4 * 1024 * 1024,
    GRACE_MS = 90000, /* the driver needs longer to start the browser or to recover from a hang */
    SEND_S = 2,
    ORDER_FD = 3, /* number of the driver's socket, after all others are closed */
};

struct browser {
    struct event_loop *loop;
    struct browser_spec spec;
    pid_t driver;                    /* 0: none */
    struct event_loop_source source; /* the driver's socket; fd -1: none */
    struct event_loop_timer guard;
    struct lines in;
    struct browser_answer answer; /* done is NULL when no call is pending */
};

json_t *browser_refusal(const char *text)
{
    json_t *observation = json_object();

    json_put(observation, "content", action_observation_content(text, strlen(text)));
    json_put(observation, "is_error", json_true());
    json_put_text(observation, "kind", "BrowserObservation");
    return observation;
}

bool browser_has_tool(const char *name)
{
    return browser_tools_know(name);
}

bool browser_is_busy(const struct browser *browser)
{
    return browser->answer.done != NULL;
}

static void answer_call(struct browser *browser, json_t *observation)
{
    const struct browser_answer answer = browser->answer;

    browser->answer = (struct browser_answer){NULL, NULL};
    event_loop_timer_clear(browser->loop, &browser->guard);
    if (answer.done != NULL)
        answer.done(answer.owner, observation);
    else
        json_decref(observation);
}

/* When its socket closes, the driver ends the browser and itself; we do not wait for that. */
static void let_go(struct browser *browser)
{
    event_loop_remove(browser->loop, &browser->source);
    fd_close(&browser->source.fd);
    lines_done(&browser->in);
    browser->driver = 0;
}

static void fail_call(struct browser *browser, const char *text)
{
    let_go(browser);
    answer_call(browser, browser_refusal(text));
}

static void on_guard(void *owner)
{
    struct browser *browser = owner;

    log_error("browser.driver_hung", LOG_INT("pid", browser->driver));
    (void)kill(browser->driver, SIGKILL);
    fail_call(browser, "The browser did not answer in time and was killed. The next call restarts "
                       "it; its tabs are lost.");
}

/* Each line from the driver is an observation. */
static void take_line(struct browser *browser)
{
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    if (!lines_next(&browser->in, &line))
        return;
    if (json_parse(line.text, line.len, &observation, &err) < 0) {
        log_error("browser.reply_unreadable", LOG_ERROR(&err));
        fail_call(browser, "The browser's answer could not be read.");
        return;
    }
    answer_call(browser, TAKE_PTR(observation));
}

static void on_readable(void *owner, uint32_t events)
{
    struct browser *browser = owner;
    char chunk[CHUNK_BYTES];
    ssize_t n = recv(browser->source.fd, chunk, sizeof(chunk), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || lines_pending(&browser->in) + (size_t)n > MAX_ANSWER_BYTES) {
        fail_call(browser, "The browser ended while the call was in progress. The next call "
                           "restarts it; its tabs are lost.");
        return;
    }
    lines_add(&browser->in, chunk, (size_t)n);
    take_line(browser);
}

/* Closes the server's descriptors, including our end of the socket, else it would never see EOF. */
NORETURN static void run_driver(const struct browser *browser, int order_fd)
{
    child_process_default_signals();
    (void)setsid();
    if (dup2(order_fd, ORDER_FD) < 0)
        _exit(EXIT_FAILURE);
    (void)fcntl(ORDER_FD, F_SETFD, FD_CLOEXEC);
    (void)close_range(ORDER_FD + 1, ~0U, 0);
    driver_run(&browser->spec, ORDER_FD);
    _exit(EXIT_SUCCESS);
}

static int start_driver(struct browser *browser, struct error *err)
{
    CLEANUP(fd_close) int ours = -1;
    CLEANUP(fd_close) int theirs = -1;
    const struct timeval patience = {.tv_sec = SEND_S};
    int pair[2] = {-1, -1};
    pid_t pid = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socketpair: %m");
    ours = pair[0];
    theirs = pair[1];
    /* The driver reads at once; if it does not, the server must not block for long. */
    (void)setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    pid = fork();
    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "fork: %m");
    if (pid == 0)
        run_driver(browser, theirs);
    browser->driver = pid;
    browser->source.fd = fd_take(&ours);
    return event_loop_add(browser->loop, &browser->source, EPOLLIN, err);
}

static int send_call(struct browser *browser, const struct browser_call *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *order = json_object();

    json_put_text(order, "tool", call->tool);
    json_put(order, "args", json_deep_copy(call->args));
    json_put_text(order, "working_dir", call->working_dir);
    json_append_text(&line, order);
    strbuf_append_char(&line, '\n');
    return fd_write_all(browser->source.fd, line.text, line.len, err);
}

void browser_execute(struct browser *browser, const struct browser_call *call,
                     const struct browser_answer *answer)
{
    struct error err = ERROR_INIT;

    browser->answer = *answer;
    if ((browser->driver == 0 && start_driver(browser, &err) < 0) ||
        send_call(browser, call, &err) < 0) {
        log_error("browser.start_failed", LOG_ERROR(&err));
        fail_call(browser, "The browser could not be started.");
        return;
    }
    event_loop_timer_set(browser->loop, &browser->guard, browser->spec.timeout_ms + GRACE_MS);
}

void browser_interrupt(struct browser *browser)
{
    static const char line[] = "0\n";

    if (browser_is_busy(browser) && browser->source.fd >= 0)
        (void)send(browser->source.fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
}

struct browser *browser_new(struct event_loop *loop, const struct browser_spec *spec)
{
    struct browser *browser = NEW(struct browser);

    browser->loop = loop;
    browser->spec = *spec;
    browser->source = (struct event_loop_source){-1, on_readable, browser};
    browser->guard = (struct event_loop_timer){.expired = on_guard, .owner = browser};
    browser->in = (struct lines)LINES_INIT;
    return browser;
}

void browser_free(struct browser *browser)
{
    if (browser == NULL)
        return;
    event_loop_timer_clear(browser->loop, &browser->guard);
    let_go(browser);
    lines_done(&browser->in);
    mem_free(browser);
}
