#include "unit/sandbox/browser/fake_chromium.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { WITHIN_MS = 30000, LOOK_MS = 5 };

static const char script_head[] =
    "#!/bin/bash\n"
    "here=${0%/*}\n"
    "say() { printf '%s\\0' \"$1\" >&4; }\n"
    "printf '%s\\n' \"$@\" >$here/arguments\n"
    "env >$here/environment\n"
    "pwd >$here/folder; pwd >>$here/profiles\n"
    "readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 >$here/inputs\n"
    "echo $$ >>$here/pids\n"
    "while IFS= read -r -d '' line <&3; do\n"
    "  id=${line#*\\\"id\\\":}; id=${id%%,*}\n"
    "  method=${line#*\\\"method\\\":\\\"}; method=${method%%\\\"*}\n"
    "  echo \"$line\" >>$here/log\n"
    "  answer='{}'; after=\n"
    "  case $method in\n";
static const char script_end[] = "  esac\n"
                                 "  say \"{\\\"id\\\":$id,\\\"result\\\":$answer}\"\n"
                                 "  eval \"$after\"\n"
                                 "done\n";

void fake_chromium_begin(struct fake_chromium *fake, const char *answers)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    (void)snprintf(fake->folder, sizeof(fake->folder), "/tmp/deft-fake-XXXXXX");
    assert_non_null(mkdtemp(fake->folder));
    (void)snprintf(fake->program, sizeof(fake->program), "%.40s/chromium", fake->folder);
    strbuf_appendf(&script, "%s%s%s", script_head, answers, script_end);
    fd = open(fake->program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(fd_write_all(fd, script.text, script.len, &err), 0);
}

/* A driver that was killed leaves its profile. */
static void remove_profiles(const struct fake_chromium *fake)
{
    CLEANUP(strbuf_done) struct strbuf paths = STRBUF_INIT;
    char *path = NULL;

    fake_chromium_read(fake, "profiles", &paths);
    for (path = paths.text; *path != '\0'; path += strlen(path) + 1) {
        path[strcspn(path, "\n")] = '\0';
        (void)rmdir(path);
    }
}

void fake_chromium_end(struct fake_chromium *fake)
{
    static const char *const names[] = {"arguments", "environment", "folder", "inputs",
                                        "pids",      "profiles",    "log",    "chromium"};

    remove_profiles(fake);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s", fake->folder, names[i]);
        (void)unlink(path.text);
    }
    assert_int_equal(rmdir(fake->folder), 0);
}

void fake_chromium_read(const struct fake_chromium *fake, const char *name, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char bytes[4096];
    ssize_t n = 0;

    strbuf_appendf(&path, "%s/%s", fake->folder, name);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (n = read(fd, bytes, sizeof(bytes)); n > 0; n = read(fd, bytes, sizeof(bytes)))
        strbuf_append_bytes(out, bytes, (size_t)n);
}

void fake_chromium_await(const struct fake_chromium *fake, const char *name, const char *text)
{
    int64_t end_ms = clock_monotonic_ms() + WITHIN_MS;
    bool found = false;

    while (!found) {
        CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;

        if (clock_monotonic_ms() > end_ms)
            fail_msg("%s without %s", name, text);
        fake_chromium_read(fake, name, &content);
        found = content.len > 0 && strstr(content.text, text) != NULL;
        if (!found)
            (void)poll(NULL, 0, LOOK_MS);
    }
}

static bool pid_exists(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* False also for one that has ended and that its parent has not waited for. */
static bool pid_runs(pid_t pid)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char stat[256] = "";

    strbuf_appendf(&path, "/proc/%d/stat", (int)pid);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, stat, sizeof(stat) - 1) > 0 && strstr(stat, ") Z ") == NULL;
}

const char *fake_text(struct strbuf *out, const char *format, ...)
{
    va_list args;

    strbuf_reset(out);
    va_start(args, format);
    strbuf_vappendf(out, format, args);
    va_end(args);
    return out->text;
}

/* Waits until no process in `pids` is left; or only ones that nothing has waited for, as asked. */
static void await_pids(const struct fake_chromium *fake, bool (*is_left)(pid_t pid))
{
    CLEANUP(strbuf_done) struct strbuf pids = STRBUF_INIT;
    int64_t end_ms = clock_monotonic_ms() + WITHIN_MS;
    char *at = NULL;

    fake_chromium_read(fake, "pids", &pids);
    for (at = pids.text; at != NULL && *at != '\0'; at += *at == '\n') {
        pid_t pid = (pid_t)strtol(at, &at, 10);

        while (is_left(pid)) {
            if (clock_monotonic_ms() > end_ms)
                fail_msg("process %d has not ended", (int)pid);
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
}

void fake_chromium_await_end(const struct fake_chromium *fake)
{
    await_pids(fake, pid_runs);
}

void fake_chromium_await_gone(const struct fake_chromium *fake)
{
    await_pids(fake, pid_exists);
}

void fake_await_no_file(const char *path)
{
    int64_t end_ms = clock_monotonic_ms() + WITHIN_MS;

    while (access(path, F_OK) == 0) {
        if (clock_monotonic_ms() > end_ms)
            fail_msg("%s is still there", path);
        (void)poll(NULL, 0, LOOK_MS);
    }
}
