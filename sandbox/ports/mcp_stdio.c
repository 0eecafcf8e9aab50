#include "sandbox/ports/mcp_stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/tools/mcp.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/ports/mcp_command.h"

enum {
    MAX_LINE_BYTES = 4 * 1024 * 1024,
    MAX_COMPLAINT_BYTES = 300,
    MAX_TIMEOUT_MS = 120000,
    READ_BYTES = 16 * 1024,
    MAX_PAGES = 20,
    FIRST_PAGE_ID = 1000,
    QUESTIONS_MAX = 100, /* of the program */
};

/* The running program. */
struct mcp_stdio {
    pid_t pid;
    int in;
    int out;
    int complaint;
    int64_t deadline_ms;
    struct lines output;
    int n_questions;
    struct fork_leftovers *leftovers; /* names the program while it runs */
};

static void mcp_stdio_done(struct mcp_stdio *session)
{
    fd_close(&session->in);
    fd_close(&session->out);
    fd_close(&session->complaint);
    lines_done(&session->output);
    if (session->pid > 0) {
        (void)kill(-session->pid, SIGKILL);
        session->leftovers->session = 0;
        (void)waitpid(session->pid, NULL, 0);
    }
}

static int open_pipes(int in[2], int out[2], struct mcp_stdio *session, struct error *err)
{
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    session->in = in[1];
    session->out = out[0];
    if (fcntl(session->in, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    session->complaint = memfd_create("complaint", MFD_CLOEXEC);
    return 0;
}

static int start_program(const struct mcp_command *command, struct mcp_stdio *session,
                         struct error *err)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int rc = 0;

    if (open_pipes(in, out, session, err) < 0)
        return -1;
    rc = mcp_command_start(command, (const int[3]){in[0], out[1], session->complaint},
                           &session->pid, err);
    fd_close(&in[0]);
    fd_close(&out[1]);
    return rc;
}

/* Returns the error for people, with the program's standard error. */
static int ended_early(const struct mcp_stdio *session, struct error *err)
{
    char said[MAX_COMPLAINT_BYTES + 1] = "";
    ssize_t n = pread(session->complaint, said, MAX_COMPLAINT_BYTES, 0);

    while (n > 0 && strchr(" \r\n\t", said[n - 1]) != NULL)
        n--;
    said[n > 0 ? n : 0] = '\0';
    return error_set(err, ERROR_INVALID, "The program ended without a reply%s%s",
                     said[0] != '\0' ? ": " : "", said);
}

/* Waits for more output; ERROR_TIMEOUT. */
static int read_more(struct mcp_stdio *session, struct error *err)
{
    struct pollfd watched = {.fd = session->out, .events = POLLIN};
    int64_t left_ms = session->deadline_ms - clock_monotonic_ms();
    char bytes[READ_BYTES];
    ssize_t n = 0;

    if (left_ms <= 0 || poll(&watched, 1, (int)left_ms) == 0)
        return error_set(err, ERROR_TIMEOUT, "The program did not reply in time");
    n = read(session->out, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EINTR))
        return ended_early(session, err);
    lines_add(&session->output, bytes, n > 0 ? (size_t)n : 0);
    return 0;
}

/* The next whole line. */
static int next_line(struct mcp_stdio *session, struct strbuf *line, struct error *err)
{
    while (!lines_next(&session->output, line)) {
        if (lines_pending(&session->output) > MAX_LINE_BYTES)
            return error_set(err, ERROR_INVALID, "The program's reply is too large");
        if (read_more(session, err) < 0)
            return -1;
    }
    return 0;
}

/* The next line as JSON; NULL when it is not JSON, e.g. a banner. */
static int next_message(struct mcp_stdio *session, json_t **message_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (next_line(session, &line, err) < 0)
        return -1;
    *message_out = NULL;
    error_ignore(json_parse(line.text, line.len, message_out, &ignored), "the result is then NULL");
    return 0;
}

/* Waits until the program takes more input; ERROR_TIMEOUT. */
static int wait_for_input(const struct mcp_stdio *session, struct error *err)
{
    struct pollfd watched = {.fd = session->in, .events = POLLOUT};
    int64_t left_ms = session->deadline_ms - clock_monotonic_ms();

    if (left_ms <= 0 || poll(&watched, 1, (int)left_ms) == 0)
        return error_set(err, ERROR_TIMEOUT, "The program does not read its input");
    return 0;
}

static int send_message(struct mcp_stdio *session, const json_t *message, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    json_append_text(&line, message);
    strbuf_append_char(&line, '\n');
    while (line.len > 0) {
        ssize_t n = write(session->in, line.text, line.len);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return ended_early(session, err);
        if (n < 0 && wait_for_input(session, err) < 0)
            return -1;
        strbuf_remove_head(&line, n > 0 ? (size_t)n : 0);
    }
    return 0;
}

/* The program may ask while it is waited for. */
static int answer_question(struct mcp_stdio *session, const json_t *message, struct error *err)
{
    json_auto_t *answer = mcp_answer(message);

    if (answer == NULL)
        return 0;
    if (++session->n_questions > QUESTIONS_MAX)
        return error_set(err, ERROR_INVALID, "The program asks the client too much");
    return send_message(session, answer, err);
}

static int wait_reply(struct mcp_stdio *session, json_int_t id, json_t *replies, struct error *err)
{
    for (;;) {
        json_auto_t *message = NULL;

        if (next_message(session, &message, err) < 0 ||
            (message != NULL && answer_question(session, message, err) < 0))
            return -1;
        if (message != NULL && json_int_or(message, "id", -1) == id &&
            json_object_get(message, "method") == NULL) {
            json_push(replies, json_incref(message));
            return 0;
        }
    }
}

/* Sends a message, and waits for the reply to it when it has an id. */
static int exchange(struct mcp_stdio *session, const json_t *message, json_t *replies,
                    struct error *err)
{
    json_int_t id = json_int_or(message, "id", -1);

    if (send_message(session, message, err) < 0)
        return -1;
    return id >= 0 ? wait_reply(session, id, replies, err) : 0;
}

/* The cursor after the newest reply; NULL at the end of a list. */
static const char *next_cursor(const json_t *replies)
{
    const json_t *newest = json_array_get(replies, json_array_size(replies) - 1);

    return json_text_or(json_object_get(newest, "result"), "nextCursor", NULL);
}

/* Requests the further pages of a list, under new ids. */
static int turn_pages(struct mcp_stdio *session, const json_t *message, json_t *replies,
                      struct error *err)
{
    json_auto_t *question = json_deep_copy(message);

    for (json_int_t i = 0; i < MAX_PAGES && next_cursor(replies) != NULL; i++) {
        json_put_text(json_need_object(question, "params"), "cursor", next_cursor(replies));
        json_put(question, "id", json_integer(FIRST_PAGE_ID + i));
        if (exchange(session, question, replies, err) < 0)
            return -1;
    }
    return 0;
}

static int talk(struct mcp_stdio *session, const json_t *messages, json_t *replies,
                struct error *err)
{
    const json_t *message = NULL;
    size_t i = 0;

    json_array_foreach (messages, i, message) {
        if (exchange(session, message, replies, err) < 0)
            return -1;
        if (text_equal(json_text_or(message, "method", ""), "tools/list") &&
            turn_pages(session, message, replies, err) < 0)
            return -1;
    }
    return 0;
}

static int run_session(const struct server_request *request, struct fork_leftovers *leftovers,
                       json_t *replies, struct error *err)
{
    CLEANUP(mcp_stdio_done) struct mcp_stdio session = {
        .in = -1, .out = -1, .complaint = -1, .output = LINES_INIT, .leftovers = leftovers};
    json_auto_t *order = NULL;
    struct mcp_command command = {.workspace = request->server->config->workspace,
                                  .session = &leftovers->session};
    json_int_t timeout_ms = 0;

    if (json_parse(request->body.text, request->body.len, &order, err) < 0)
        return -1;
    timeout_ms = json_int_or(order, "timeout_ms", MAX_TIMEOUT_MS);
    session.deadline_ms =
        clock_monotonic_ms() + (timeout_ms < MAX_TIMEOUT_MS ? timeout_ms : MAX_TIMEOUT_MS);
    (void)signal(SIGPIPE, SIG_IGN);
    command.order = order;
    if (start_program(&command, &session, err) < 0)
        return -1;
    return talk(&session, json_object_get(order, "messages"), replies, err);
}

static void work(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *replies = json_array();
    struct error err = ERROR_INIT;

    if (run_session(request, answer->leftovers, replies, &err) < 0) {
        fork_reply_error(answer, &err);
        return;
    }
    answer->body = json_object();
    json_put(answer->body, "replies", json_incref(replies));
}

void mcp_stdio_handle(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work, .result = -1});
}
