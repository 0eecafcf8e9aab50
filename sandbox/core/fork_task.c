#include "sandbox/core/fork_task.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"

enum { MAX_FOUND_BYTES = 32 * 1024 * 1024, MS_PER_S = 1000 };

struct fork_task {
    struct event_loop *loop;
    void (*told)(void *owner, json_t *found, const struct error *why);
    void *owner;
    struct event_loop_child child;
    struct event_loop_timer deadline;
    int64_t deadline_ms;
    int found;      /* a memory file */
    pid_t *session; /* see struct fork_task_spec */
    bool was_late;
    bool was_interrupted;
};

NORETURN static void run_copy(const struct fork_task *task, const struct fork_task_spec *order)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *found = NULL;
    struct error ignored = ERROR_INIT;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    child_process_default_signals();
    found = order->work(order->what);
    json_append_text(&text, found);
    if (fd_write_all(task->found, text.text, text.len, &ignored) < 0)
        _exit(EXIT_FAILURE);
    _exit(EXIT_SUCCESS);
}

static void end_work(const struct fork_task *task)
{
    child_process_kill_group(task->child.pid);
    if (task->session != NULL)
        child_process_kill_group(*task->session);
}

static void on_deadline(void *owner)
{
    struct fork_task *task = owner;

    task->was_late = true;
    end_work(task);
}

static int read_found(const struct fork_task *task, int status, json_t **found_out,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct stat info = {.st_size = 0};

    if (task->was_interrupted)
        return error_set(err, ERROR_CANCELLED, "The work was interrupted");
    if (task->was_late)
        return error_set(err, ERROR_TIMEOUT, "The work took longer than %lld seconds",
                         (long long)(task->deadline_ms / MS_PER_S));
    if (status != 0 || fstat(task->found, &info) < 0 || info.st_size == 0)
        return error_set(err, ERROR_INTERNAL, "The process ended without a result");
    if (info.st_size > MAX_FOUND_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The result is too large");
    strbuf_reserve(&text, (size_t)info.st_size);
    text.len = (size_t)info.st_size;
    if (pread(task->found, text.text, text.len, 0) != info.st_size)
        return error_set(err, ERROR_INTERNAL, "The result cannot be read");
    return json_parse(text.text, text.len, found_out, err);
}

/* Does not wait for programs that the fork left running, but ends one in its session. */
static void on_ended(void *owner, int status)
{
    struct fork_task *task = owner;
    json_t *found = NULL;
    struct error why = ERROR_INIT;
    int rc = read_found(task, status, &found, &why);
    struct fork_task ended = *task;

    task->child.pid = 0;
    fork_task_free(task);
    ended.told(ended.owner, rc == 0 ? found : NULL, &why);
}

pid_t *fork_task_session_new(void)
{
    void *shared =
        mmap(NULL, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return shared != MAP_FAILED ? shared : NULL;
}

int fork_task_start(struct event_loop *loop, const struct fork_task_spec *order,
                    struct fork_task **fork_task_out, struct error *err)
{
    struct fork_task *task = NEW(struct fork_task);
    pid_t pid = -1;

    task->loop = loop;
    task->told = order->told;
    task->owner = order->owner;
    task->child = (struct event_loop_child){.exited = on_ended, .owner = task};
    task->deadline = (struct event_loop_timer){.expired = on_deadline, .owner = task};
    task->deadline_ms = order->deadline_ms;
    task->session = order->session;
    task->found = memfd_create("found", MFD_CLOEXEC);
    if (task->found >= 0)
        pid = fork();
    if (pid < 0) {
        error_set(err, ERROR_UNAVAILABLE, "starting a worker process: %m");
        fork_task_free(task);
        return -1;
    }
    if (pid == 0)
        run_copy(task, order);
    task->child.pid = pid;
    event_loop_child_watch(loop, &task->child);
    event_loop_timer_set(loop, &task->deadline, order->deadline_ms);
    *fork_task_out = task;
    return 0;
}

void fork_task_interrupt(struct fork_task *task)
{
    task->was_interrupted = true;
    end_work(task);
}

void fork_task_free(struct fork_task *task)
{
    if (task == NULL)
        return;
    end_work(task);
    event_loop_child_forget(task->loop, &task->child);
    event_loop_timer_clear(task->loop, &task->deadline);
    fd_close(&task->found);
    if (task->session != NULL)
        (void)munmap(task->session, sizeof(*task->session));
    mem_free(task);
}
