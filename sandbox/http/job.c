#include "sandbox/http/job.h"

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
#include "sandbox/core/limits.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/process.h"
#include "sandbox/core/server.h"
#include "sandbox/http/request.h"

enum { MAX_HEAD_BYTES = 16 * 1024 };

/* Content types that a job may use; the request needs a constant. */
static const char *const content_types[] = {"application/json", "application/gzip",
                                            "text/x-patch; charset=utf-8", "application/zip"};

struct job {
    struct jobs *jobs;
    struct request *request;
    struct loop_child child;
    struct loop_timer deadline;
    int head;   /* pipe: status, headers, type */
    int result; /* the body */
    struct job *next;
};

struct jobs {
    struct loop *loop;
    struct job *first;
    size_t n;
};

struct jobs *jobs_new(struct loop *loop)
{
    struct jobs *jobs = NEW(struct jobs);

    jobs->loop = loop;
    return jobs;
}

static void job_free(struct job *job)
{
    struct job **link = &job->jobs->first;

    while (*link != NULL && *link != job)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = job->next;
        job->jobs->n--;
    }
    loop_child_forget(job->jobs->loop, &job->child);
    loop_timer_clear(job->jobs->loop, &job->deadline);
    fd_close(&job->head);
    fd_close(&job->result);
    mem_free(job);
}

static void kill_job(const struct job *job)
{
    if (job->child.pid > 0)
        (void)kill(-job->child.pid, SIGKILL);
}

void jobs_free(struct jobs *jobs)
{
    if (jobs == NULL)
        return;
    while (jobs->first != NULL) {
        kill_job(jobs->first);
        job_free(jobs->first);
    }
    mem_free(jobs);
}

/* --- in the copy --- */

void job_answer_error(struct job_answer *answer, const struct error *err)
{
    answer->status = request_status_of(err->code);
    answer->body = json_object();
    json_put_text(answer->body, "detail", err->message);
}

static void write_answer(const struct job_answer *answer, int head)
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

NORETURN static void run_copy(const struct job *job, const struct job_order *order, int head)
{
    struct job_answer answer = {.status = 200, .headers = json_object(), .result = job->result};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    process_default_signals();
    order->work(job->request, &answer);
    write_answer(&answer, head);
    _exit(EXIT_SUCCESS);
}

/* --- in the server --- */

static void on_dropped(void *owner)
{
    struct job *job = owner;

    kill_job(job);
    job_free(job);
}

static void on_deadline(void *owner)
{
    struct job *job = owner;
    struct request *request = job->request;

    kill_job(job);
    job_free(job);
    request_answer_detail(request, 504, "The work took too long");
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

    error_ignore(json_parse(text, n > 0 ? (size_t)n : 0, &head, &ignored), "NULL then");
    return head;
}

static void answer_request(struct job *job, const json_t *head)
{
    struct request *request = job->request;
    struct stat info = {0};
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (json_object_get(head, "headers"), name, value)
        request_add_header(request, name, json_string_value(value));
    (void)fstat(job->result, &info);
    request_answer_file(request, (int)json_int_or(head, "status", 500),
                        &(struct request_file){fd_take(&job->result), 0, info.st_size,
                                               known_type(json_text_or(head, "type", ""))});
}

static void on_ended(void *owner, int status)
{
    struct job *job = owner;
    json_auto_t *head = read_head(job->head);

    if (status == 0 && head != NULL) {
        answer_request(job, head);
    } else {
        log_error("job.failed", LOG_INT("status", status));
        request_answer_detail(job->request, 500, "Internal Server Error");
    }
    job_free(job);
}

static int open_files(struct job *job, int *write_end_out, struct error *err)
{
    int ends[2] = {-1, -1};

    if (job->result < 0)
        job->result = memfd_create("answer", MFD_CLOEXEC);
    if (job->result < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "starting work: %m");
    job->head = ends[0];
    *write_end_out = ends[1];
    return 0;
}

static int start(struct job *job, const struct job_order *order, struct error *err)
{
    CLEANUP(fd_close) int write_end = -1;
    pid_t pid = 0;

    if (job->jobs->n > MAX_JOBS)
        return error_set(err, ERROR_RATE_LIMITED, "too much work at once");
    if (open_files(job, &write_end, err) < 0)
        return -1;
    pid = fork();
    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "fork: %m");
    if (pid == 0)
        run_copy(job, order, write_end);
    job->child.pid = pid;
    loop_child_watch(job->jobs->loop, &job->child);
    loop_timer_set(job->jobs->loop, &job->deadline,
                   order->deadline_ms > 0 ? order->deadline_ms : JOB_DEADLINE_MS);
    return 0;
}

void job_start(struct request *request, const struct job_order *order)
{
    struct jobs *jobs = request->server->jobs;
    struct job *job = NEW(struct job);
    struct error err = ERROR_INIT;

    *job = (struct job){.jobs = jobs,
                        .request = request,
                        .child = {.exited = on_ended, .owner = job},
                        .deadline = {.expired = on_deadline, .owner = job},
                        .head = -1,
                        .result = order->result,
                        .next = jobs->first};
    jobs->first = job;
    jobs->n++;
    if (start(job, order, &err) < 0) {
        job_free(job);
        request_answer_error(request, &err);
        return;
    }
    request->dropped = on_dropped;
    request->owner = job;
}
