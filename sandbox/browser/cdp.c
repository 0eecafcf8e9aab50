#include "sandbox/browser/cdp.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/cdp_message.h"

enum {
    CHUNK_BYTES = 64 * 1024,
    MAX_MESSAGE_BYTES = 64 * 1024 * 1024,
    SEND_MS = 10000, /* a browser that accepts no message for so long is considered dead */
};

struct cdp {
    struct cdp_ends ends;
    struct cdp_listener listener;
    struct strbuf in;
    size_t n_searched; /* bytes of `in` known to hold no end of a message */
    json_int_t last_id;
    json_int_t awaited_id;
    char awaited_session[CDP_ID_BYTES];
    json_t *answer;
    bool is_session_over;
    bool is_broken; /* a message was written partially */
};

void cdp_copy_id(char id[CDP_ID_BYTES], const char *text)
{
    size_t len = strnlen(text, CDP_ID_BYTES - 1);

    memcpy(id, text, len);
    id[len] = '\0';
}

struct cdp *cdp_new(const struct cdp_ends *ends, const struct cdp_listener *listener)
{
    struct cdp *cdp = NEW(struct cdp);

    cdp->ends = *ends;
    cdp->listener = *listener;
    cdp->in = (struct strbuf)STRBUF_INIT;
    return cdp;
}

void cdp_free(struct cdp *cdp)
{
    if (cdp == NULL)
        return;
    strbuf_done(&cdp->in);
    json_decref(cdp->answer);
    mem_free(cdp);
}

static int remaining_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_monotonic_ms();

    if (left <= 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* --- out --- */

static int write_some(struct cdp *cdp, const char **bytes, size_t *len, int64_t deadline_ms,
                      struct error *err)
{
    struct pollfd fd = {.fd = cdp->ends.to_fd, .events = POLLOUT};
    ssize_t n = 0;

    if (poll(&fd, 1, remaining_ms(deadline_ms)) == 0)
        return error_set(err, ERROR_UNAVAILABLE, "the browser no longer accepts messages");
    n = write(cdp->ends.to_fd, *bytes, *len);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return error_set(err, ERROR_UNAVAILABLE, "the browser has ended");
    if (n > 0) {
        *bytes += n;
        *len -= (size_t)n;
    }
    return 0;
}

static int write_message(struct cdp *cdp, const struct strbuf *text, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + SEND_MS;
    const char *bytes = text->text;
    size_t len = text->len + 1; /* the NUL ends the message */

    if (cdp->is_broken)
        return error_set(err, ERROR_UNAVAILABLE, "the browser has ended");
    while (len > 0) {
        if (write_some(cdp, &bytes, &len, deadline_ms, err) < 0) {
            cdp->is_broken = true;
            return -1;
        }
    }
    return 0;
}

static int send_order(struct cdp *cdp, const struct cdp_order *order, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *message = json_object();

    json_put(message, "id", json_integer(++cdp->last_id));
    json_put_text(message, "method", order->method);
    json_put(message, "params", order->params != NULL ? order->params : json_object());
    if (order->session[0] != '\0')
        json_put_text(message, "sessionId", order->session);
    json_append_text(&text, message);
    return write_message(cdp, &text, err);
}

void cdp_send(struct cdp *cdp, const struct cdp_order *order)
{
    struct error ignored = ERROR_INIT;

    error_ignore(send_order(cdp, order, &ignored), "the next call reports the same error");
}

/* --- in --- */

/* The session that a call waits for may end without the call being answered. */
static void look_for_end(struct cdp *cdp, const char *method, const char *session,
                         const json_t *params)
{
    bool is_detached = text_equal(method, "Target.detachedFromTarget") &&
                       text_equal(json_text_or(params, "sessionId", ""), cdp->awaited_session);
    bool is_crashed =
        text_equal(method, "Inspector.targetCrashed") && text_equal(session, cdp->awaited_session);

    if (cdp->awaited_session[0] != '\0' && (is_detached || is_crashed))
        cdp->is_session_over = true;
}

static void take_event(struct cdp *cdp, const json_t *message)
{
    const char *method = json_text_or(message, "method", "");
    const char *session = json_text_or(message, "sessionId", "");
    const json_t *params = json_object_get(message, "params");

    look_for_end(cdp, method, session, params);
    cdp->listener.event(cdp->listener.owner, method, session, params);
}

/* Drops answers that no call waits for any more. */
static void take_message(struct cdp *cdp, json_t *message)
{
    json_int_t id = json_int_or(message, "id", 0);

    if (json_object_get(message, "id") == NULL) {
        take_event(cdp, message);
        return;
    }
    if (id == 0 || id != cdp->awaited_id || cdp->answer != NULL)
        return;
    cdp->answer = json_incref(message);
}

/* Takes one complete message from the input buffer; *taken_out is false when there is none. */
static int take_buffered(struct cdp *cdp, bool *taken_out, struct error *err)
{
    json_auto_t *message = NULL;
    const char *end = memchr(cdp->in.text + cdp->n_searched, '\0', cdp->in.len - cdp->n_searched);
    size_t len = 0;
    int rc = 0;

    *taken_out = end != NULL;
    cdp->n_searched = end != NULL ? 0 : cdp->in.len;
    if (end == NULL)
        return 0;
    len = (size_t)(end - cdp->in.text);
    rc = cdp_parse(cdp->in.text, len, &message, err);
    strbuf_remove_head(&cdp->in, len + 1);
    if (rc < 0 || !json_is_object(message))
        return error_set(err, ERROR_UNAVAILABLE, "the browser sent an invalid message");
    take_message(cdp, message);
    return 0;
}

static int read_chunk(struct cdp *cdp, struct error *err)
{
    char chunk[CHUNK_BYTES];
    ssize_t n = read(cdp->ends.from_fd, chunk, sizeof(chunk));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0)
        return error_set(err, ERROR_UNAVAILABLE, "the browser has ended");
    if (cdp->in.len + (size_t)n > MAX_MESSAGE_BYTES)
        return error_set(err, ERROR_UNAVAILABLE, "the browser sent a message larger than %d bytes",
                         MAX_MESSAGE_BYTES);
    strbuf_append_bytes(&cdp->in, chunk, (size_t)n);
    return 0;
}

static int wait_for_bytes(struct cdp *cdp, int64_t deadline_ms, struct error *err)
{
    struct pollfd fds[2] = {{.fd = cdp->ends.from_fd, .events = POLLIN},
                            {.fd = cdp->ends.stop_fd, .events = POLLIN}};
    int n = poll(fds, ARRAY_SIZE(fds), remaining_ms(deadline_ms));

    if (n < 0 && errno != EINTR)
        return error_set(err, ERROR_UNAVAILABLE, "poll: %m");
    if (n == 0 && remaining_ms(deadline_ms) == 0)
        return error_set(err, ERROR_TIMEOUT, "no answer in time");
    if (n > 0 && fds[1].revents != 0)
        return error_set(err, ERROR_CANCELLED, "interrupted");
    if (n > 0 && fds[0].revents != 0)
        return read_chunk(cdp, err);
    return 0;
}

int cdp_listen(struct cdp *cdp, int64_t deadline_ms, struct error *err)
{
    bool taken = false;

    if (take_buffered(cdp, &taken, err) < 0)
        return -1;
    while (!taken) {
        if (wait_for_bytes(cdp, deadline_ms, err) < 0 || take_buffered(cdp, &taken, err) < 0)
            return -1;
    }
    return 0;
}

static int wait_for_answer(struct cdp *cdp, int64_t deadline_ms, struct error *err)
{
    while (cdp->answer == NULL && !cdp->is_session_over) {
        /* Events from a busy page do not extend the deadline. */
        if (remaining_ms(deadline_ms) == 0)
            return error_set(err, ERROR_TIMEOUT, "no answer in time");
        if (cdp_listen(cdp, deadline_ms, err) < 0)
            return -1;
    }
    if (cdp->answer == NULL)
        return error_set(err, ERROR_NOT_FOUND, "the tab was closed or crashed");
    return 0;
}

/* The `result` of an answer, or the browser's refusal. */
static int read_answer(const json_t *answer, json_t **result_out, struct error *err)
{
    const json_t *failure = json_object_get(answer, "error");
    json_t *result = json_object_get(answer, "result");

    if (failure != NULL)
        return error_set(err, ERROR_INVALID, "%s", json_text_or(failure, "message", "refused"));
    *result_out = result != NULL ? json_incref(result) : json_object();
    return 0;
}

int cdp_call(struct cdp *cdp, const struct cdp_order *order, json_t **result_out, struct error *err)
{
    json_auto_t *answer = NULL;
    int rc = 0;

    if (send_order(cdp, order, err) < 0)
        return -1;
    cdp->awaited_id = cdp->last_id;
    cdp->is_session_over = false;
    cdp_copy_id(cdp->awaited_session, order->session);
    rc = wait_for_answer(cdp, order->deadline_ms, err);
    answer = TAKE_PTR(cdp->answer);
    cdp->awaited_id = 0;
    cdp->awaited_session[0] = '\0';
    return rc < 0 ? -1 : read_answer(answer, result_out, err);
}
