#include "sandbox/http/fork_request.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/server_request.h"

enum { MAX_HEAD_BYTES = 16 * 1024 };

/* Content types that a fork may use; the request needs a constant. */
static const char *const content_types[] = {"application/json", "application/gzip",
                                            "text/x-patch; charset=utf-8", "application/zip"};

struct forked_request {
    struct fork_requests *forks;
    struct server_request *request;
    struct event_loop_child child;
    struct event_loop_timer deadline;
    int head;   /* pipe: status, headers, type */
    int result; /* the body */
    struct fork_leftovers *leftovers;
    struct forked_request *next;
};

struct fork_requests {
    struct event_loop *loop;
    struct forked_request *first;
    size_t n;
};

struct fork_requests *fork_requests_new(struct event_loop *loop)
{
    struct fork_requests *forks = NEW(struct fork_requests);

    forks->loop = loop;
    return forks;
}

static void fork_request_free(struct forked_request *forked)
{
    struct forked_request **link = &forked->forks->first;

    while (*link != NULL && *link != forked)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = forked->next;
        forked->forks->n--;
    }
    event_loop_child_forget(forked->forks->loop, &forked->child);
    event_loop_timer_clear(forked->forks->loop, &forked->deadline);
    fd_close(&forked->head);
    fd_close(&forked->result);
    if (forked->leftovers != NULL)
        (void)munmap(forked->leftovers, sizeof(*forked->leftovers));
    mem_free(forked);
}

/* After the end of a fork, which may not have been its own. */
static void remove_leftovers(const struct forked_request *forked)
{
    CLEANUP(strbuf_done) struct strbuf lock = STRBUF_INIT;
    const struct fork_leftovers *leftovers = forked->leftovers;

    child_process_kill_group(leftovers->session);
    if (leftovers->file[0] == '\0')
        return;
    (void)unlink(leftovers->file);
    strbuf_appendf(&lock, "%s.lock", leftovers->file);
    (void)unlink(lock.text);
}

static void kill_fork(const struct forked_request *forked)
{
    if (forked->child.pid <= 0)
        return;
    child_process_kill_group(forked->child.pid);
    remove_leftovers(forked);
}

void fork_requests_free(struct fork_requests *forks)
{
    if (forks == NULL)
        return;
    while (forks->first != NULL) {
        kill_fork(forks->first);
        fork_request_free(forks->first);
    }
    mem_free(forks);
}

/* --- in the copy --- */

void fork_reply_error(struct fork_reply *answer, const struct error *err)
{
    answer->status = server_request_status_of(err->code);
    answer->body = json_object();
    json_put_text(answer->body, "detail", err->message);
}

static void write_answer(const struct fork_reply *answer, int head)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *facts = json_object();
    struct error err = ERROR_INIT;

    if (answer->body != NULL) {
        json_append_text(&body, answer->body);
        if (ftruncate(answer->result, 0) < 0 || lseek(answer->result, 0, SEEK_SET) < 0 ||
            fd_write_all(answer->result, body.text, body.len, &err) < 0)
            _exit(EXIT_FAILURE);
    }
    json_put(facts, "status", json_integer(answer->status));
    json_put_text(facts, "type", answer->body != NULL ? content_types[0] : answer->content_type);
    json_put(facts, "headers", json_incref(answer->headers));
    json_append_text(&text, facts);
    if (text.len > MAX_HEAD_BYTES || fd_write_all(head, text.text, text.len, &err) < 0)
        _exit(EXIT_FAILURE);
}

NORETURN static void run_copy(const struct forked_request *forked,
                              const struct fork_request_spec *order, int head)
{
    struct fork_reply answer = {.status = 200,
                                .headers = json_object(),
                                .result = forked->result,
                                .leftovers = forked->leftovers};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    child_process_default_signals();
    order->work(forked->request, &answer);
    write_answer(&answer, head);
    _exit(EXIT_SUCCESS);
}

/* --- in the server --- */

static void on_dropped(void *owner)
{
    struct forked_request *forked = owner;

    kill_fork(forked);
    fork_request_free(forked);
}

static void on_deadline(void *owner)
{
    struct forked_request *forked = owner;
    struct server_request *request = forked->request;

    kill_fork(forked);
    fork_request_free(forked);
    server_request_answer_detail(request, 504, "The work took too long");
}

static const char *known_type(const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(content_types); i++) {
        if (text_equal(content_types[i], type))
            return content_types[i];
    }
    return "application/octet-stream";
}

/* The result of the fork; NULL when it died. */
static json_t *read_head(int fd)
{
    char text[MAX_HEAD_BYTES];
    struct error ignored = ERROR_INIT;
    json_t *head = NULL;
    ssize_t n = read(fd, text, sizeof(text));

    error_ignore(json_parse(text, n > 0 ? (size_t)n : 0, &head, &ignored),
                 "the result is then NULL");
    return head;
}

static void answer_request(struct forked_request *forked, const json_t *head)
{
    struct server_request *request = forked->request;
    struct stat info = {0};
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (json_object_get(head, "headers"), name, value)
        server_request_add_header(request, name, json_string_value(value));
    (void)fstat(forked->result, &info);
    server_request_answer_file(
        request, (int)json_int_or(head, "status", 500),
        &(struct server_request_file){fd_take(&forked->result), 0, info.st_size,
                                      known_type(json_text_or(head, "type", ""))});
}

static void on_ended(void *owner, int status)
{
    struct forked_request *forked = owner;
    json_auto_t *head = read_head(forked->head);

    remove_leftovers(forked);
    if (status == 0 && head != NULL) {
        answer_request(forked, head);
    } else {
        log_error("fork_request.failed", LOG_INT("status", status));
        server_request_answer_detail(forked->request, 500, "Internal Server Error");
    }
    fork_request_free(forked);
}

static int open_files(struct forked_request *forked, int *write_end_out, struct error *err)
{
    int ends[2] = {-1, -1};
    void *shared = mmap(NULL, sizeof(*forked->leftovers), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    forked->leftovers = shared != MAP_FAILED ? shared : NULL;
    if (forked->result < 0)
        forked->result = memfd_create("answer", MFD_CLOEXEC);
    if (forked->leftovers == NULL || forked->result < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "starting a worker process: %m");
    forked->head = ends[0];
    *write_end_out = ends[1];
    return 0;
}

static int start_fork(struct forked_request *forked, const struct fork_request_spec *order,
                      struct error *err)
{
    CLEANUP(fd_close) int write_end = -1;
    pid_t pid = 0;

    if (forked->forks->n > MAX_FORK_REQUESTS)
        return error_set(err, ERROR_RATE_LIMITED, "too many worker processes");
    if (open_files(forked, &write_end, err) < 0)
        return -1;
    pid = fork();
    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "fork: %m");
    if (pid == 0)
        run_copy(forked, order, write_end);
    forked->child.pid = pid;
    event_loop_child_watch(forked->forks->loop, &forked->child);
    event_loop_timer_set(forked->forks->loop, &forked->deadline,
                         order->deadline_ms > 0 ? order->deadline_ms : FORK_REQUEST_DEADLINE_MS);
    return 0;
}

void fork_request_start(struct server_request *request, const struct fork_request_spec *order)
{
    struct fork_requests *forks = request->server->forks;
    struct forked_request *forked = NEW(struct forked_request);
    struct error err = ERROR_INIT;

    *forked = (struct forked_request){.forks = forks,
                                      .request = request,
                                      .child = {.exited = on_ended, .owner = forked},
                                      .deadline = {.expired = on_deadline, .owner = forked},
                                      .head = -1,
                                      .result = order->result,
                                      .next = forks->first};
    forks->first = forked;
    forks->n++;
    if (start_fork(forked, order, &err) < 0) {
        fork_request_free(forked);
        server_request_answer_error(request, &err);
        return;
    }
    request->dropped = on_dropped;
    request->owner = forked;
}
