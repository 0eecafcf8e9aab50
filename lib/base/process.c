#include "base/process.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "config.h"

/* Each heap keeps its peak size, and the allocator would create eight per processor. */
#define HEAPS_MAX 2
/* More than the frames of process_release_stack() and of what it calls take. */
#define OWN_FRAME_BYTES ((uintptr_t)1024)

static void append_help(const struct process *process, struct strbuf *out)
{
    strbuf_append(out, process->help);
}

static void append_settings(const struct process *process, struct strbuf *out)
{
    settings_describe(process->settings, process->n_settings, out);
}

static void append_version(const struct process *process, struct strbuf *out)
{
    strbuf_appendf(out, "%s %s\n", process->name, PACKAGE_VERSION);
}

static const struct {
    const char *option;
    void (*append)(const struct process *process, struct strbuf *out);
} answers[] = {
    {"--help", append_help},
    {"--help-config", append_settings},
    {"--version", append_version},
};

bool process_answer(const struct process *process, const char *option, int *status_out)
{
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct error ignored = ERROR_INIT;

        if (!text_equal(answers[i].option, option))
            continue;
        answers[i].append(process, &text);
        *status_out = fd_write_all(STDOUT_FILENO, text.text, text.len, &ignored) < 0 ? EXIT_FAILURE
                                                                                     : EXIT_SUCCESS;
        return true;
    }
    return false;
}

static void print_message(const struct process *process, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    strbuf_appendf(&text, "%s: %s\n", process->name, words);
    error_ignore(fd_write_all(STDERR_FILENO, text.text, text.len, &ignored),
                 "standard output may be closed");
}

int process_refuse(const struct process *process, const char *option)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words, "unknown option %s; see --help", option);
    print_message(process, words.text);
    return EX_USAGE;
}

int process_configure(const struct process *process, void *settings, const char *const *log_level,
                      struct error *err)
{
    enum log_level level = LOG_LEVEL_INFO;

    if (settings_read(process->settings, process->n_settings, settings, err) < 0)
        return -1;
    if (log_level_parse(*log_level, &level, err) < 0)
        return error_wrap(err, "LOG_LEVEL");
    log_setup(process->name, level);
    return 0;
}

int process_complain(const struct process *process, const struct error *err)
{
    print_message(process, err->message);
    return err->code == ERROR_INVALID ? EX_CONFIG : EXIT_FAILURE;
}

int process_open_stop(int *fd_out, struct error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    /* A log reader or a peer that closed its end must not kill the process. */
    if (sigaction(SIGPIPE, &ignore, NULL) < 0 || pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0)
        return error_set(err, ERROR_INTERNAL, "signals cannot be set up");
    *fd_out = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd_out < 0 ? error_set(err, ERROR_UNAVAILABLE, "signalfd: %m") : 0;
}

void process_release_stack(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t size = 0;
    uintptr_t end = 0;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    end = ((uintptr_t)__builtin_frame_address(0) - OWN_FRAME_BYTES) & ~(page - 1);
    if (pthread_attr_getstack(&attr, &lowest, &size) == 0 && end > (uintptr_t)lowest)
        (void)madvise(lowest, end - (uintptr_t)lowest, MADV_DONTNEED);
    (void)pthread_attr_destroy(&attr);
}

void process_bound_heaps(int large_bytes)
{
    /* Left to itself, malloc raises both thresholds to the largest allocation freed so far. */
    /* NOLINTBEGIN(concurrency-mt-unsafe): before the first thread */
    (void)mallopt(M_ARENA_MAX, HEAPS_MAX);
    (void)mallopt(M_MMAP_THRESHOLD, large_bytes);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * large_bytes);
    /* NOLINTEND(concurrency-mt-unsafe) */
}
