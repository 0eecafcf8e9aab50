#include "sandbox/core/errand.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/process.h"

enum { MAX_FOUND_BYTES = 256 * 1024, MS_PER_S = 1000 };

struct errand {
    struct loop *loop;
    void (*told)(void *owner, json_t *found, const struct error *why);
    void *owner;
    struct loop_child child;
    struct loop_timer deadline;
    int64_t deadline_ms;
    int found; /* a memory file */
    bool was_late;
    bool was_interrupted;
};

NORETURN static void run_copy(const struct errand *errand, const struct errand_order *order)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *found = NULL;
    struct error ignored = ERROR_INIT;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    process_default_signals();
    found = order->work(order->what);
    json_append_text(&text, found);
    if (fd_write_all(errand->found, text.text, text.len, &ignored) < 0)
        _exit(EXIT_FAILURE);
    _exit(EXIT_SUCCESS);
}

static void end_work(const struct errand *errand)
{
    if (errand->child.pid <= 0)
        return;
    (void)kill(errand->child.pid, SIGKILL); /* in case it does not lead its group yet */
    (void)kill(-errand->child.pid, SIGKILL);
}

static void on_deadline(void *owner)
{
    struct errand *errand = owner;

    errand->was_late = true;
    end_work(errand);
}

static int read_found(const struct errand *errand, int status, json_t **found_out,
                      struct error *err)
{
    CLEANUP(mem_freep) char *text = mem_alloc(MAX_FOUND_BYTES);
    ssize_t n = pread(errand->found, text, MAX_FOUND_BYTES, 0);

    if (errand->was_interrupted)
        return error_set(err, ERROR_CANCELLED, "It was interrupted");
    if (errand->was_late)
        return error_set(err, ERROR_TIMEOUT, "It took longer than %lld seconds",
                         (long long)(errand->deadline_ms / MS_PER_S));
    if (status != 0 || n <= 0)
        return error_set(err, ERROR_INTERNAL, "The work ended without a result");
    return json_parse(text, (size_t)n, found_out, err);
}

/* Does not wait for programs that the fork left running. */
static void on_ended(void *owner, int status)
{
    struct errand *errand = owner;
    json_t *found = NULL;
    struct error why = ERROR_INIT;
    int rc = read_found(errand, status, &found, &why);
    struct errand ended = *errand;

    errand->child.pid = 0;
    errand_free(errand);
    ended.told(ended.owner, rc == 0 ? found : NULL, &why);
}

int errand_start(struct loop *loop, const struct errand_order *order, struct errand **errand_out,
                 struct error *err)
{
    struct errand *errand = NEW(struct errand);
    pid_t pid = -1;

    errand->loop = loop;
    errand->told = order->told;
    errand->owner = order->owner;
    errand->child = (struct loop_child){.exited = on_ended, .owner = errand};
    errand->deadline = (struct loop_timer){.expired = on_deadline, .owner = errand};
    errand->deadline_ms = order->deadline_ms;
    errand->found = memfd_create("found", MFD_CLOEXEC);
    if (errand->found >= 0)
        pid = fork();
    if (pid < 0) {
        error_set(err, ERROR_UNAVAILABLE, "starting work: %m");
        errand_free(errand);
        return -1;
    }
    if (pid == 0)
        run_copy(errand, order);
    errand->child.pid = pid;
    loop_child_watch(loop, &errand->child);
    loop_timer_set(loop, &errand->deadline, order->deadline_ms);
    *errand_out = errand;
    return 0;
}

void errand_interrupt(struct errand *errand)
{
    errand->was_interrupted = true;
    end_work(errand);
}

void errand_free(struct errand *errand)
{
    if (errand == NULL)
        return;
    end_work(errand);
    loop_child_forget(errand->loop, &errand->child);
    loop_timer_clear(errand->loop, &errand->deadline);
    fd_close(&errand->found);
    mem_free(errand);
}
