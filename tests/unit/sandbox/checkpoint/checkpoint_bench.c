#include "unit/sandbox/checkpoint/checkpoint_bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/folder.h"

int checkpoint_bench_set_up(void **state)
{
    struct checkpoint_bench *bench = NEW(struct checkpoint_bench);

    memcpy(bench->folder, "/tmp/deft-checkp-XXXXXX", sizeof("/tmp/deft-checkp-XXXXXX"));
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->workspace, sizeof(bench->workspace), "%s/work", bench->folder);
    (void)snprintf(bench->state, sizeof(bench->state), "%s/state", bench->folder);
    assert_int_equal(mkdir(bench->workspace, 0755), 0);
    assert_int_equal(mkdir(bench->state, 0755), 0);
    *state = bench;
    return 0;
}

int checkpoint_bench_tear_down(void **state)
{
    struct checkpoint_bench *bench = *state;

    folder_remove(bench->folder);
    mem_free(bench);
    return 0;
}

void bench_run(struct checkpoint_bench *bench, const char *line)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    const char *const argv[] = {"sh", "-ec", NULL, NULL};
    int status = 0;
    pid_t pid = 0;

    strbuf_appendf(&whole,
                   "cd %s; STATE=%s; GIT=\"git --git-dir=$STATE/checkpoints/current.git\"; "
                   "export HOME=$STATE GIT_CONFIG_NOSYSTEM=1; %s",
                   bench->workspace, bench->state, line);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *copy[4] = {argv[0], argv[1], whole.text, NULL};

        (void)execvp("sh", (char *const *)(uintptr_t)copy);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("status %d: %s", status, line);
}

void bench_take(struct checkpoint_bench *bench, struct file_snapshot *snapshot)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    struct error err = ERROR_INIT;

    if (object_store_open(&store, bench->state, &object_store_default_limits, &err) < 0 ||
        file_snapshot_take(&store, bench->workspace, clock_monotonic_ms() + 60000, snapshot, &err) <
            0)
        fail_msg("%s", err.message);
}
