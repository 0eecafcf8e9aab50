#include "unit/runtime/bwrap/bwrap_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/bwrap/box_end.h"
#include "runtime/bwrap/bwrap_backend.h"
#include "runtime/bwrap/host_prepare.h"

#define FILE_MAX_BYTES (1024UL * 1024)
#define SLEEP "/bin/sleep"

static const char script[] = "#!/bin/sh\n"
                             "dir=%s\n"
                             "rm -f \"$dir\"/seen/*\n" /* of another user */
                             "printf '%%s\\n' \"$@\" >\"$dir/seen/arguments\"\n"
                             "env >\"$dir/seen/environment\"\n"
                             "case \"$*\" in\n"
                             "*' true') . \"$dir/trial\" ;;\n"
                             "*) . \"$dir/play\" ;;\n"
                             "esac\n";

static void write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    FILE *file = NULL;

    strbuf_appendf(&path, "%s/%s", folder, name);
    file = fopen(path.text, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path.text, mode), 0);
}

static void make_folder(const char *folder, const char *name, mode_t mode)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path.text, mode), 0);
    assert_int_equal(chmod(path.text, mode), 0);
}

static void make_files(struct bwrap_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;

    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/deft-bwrap-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    /* The script may run as another user. */
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    make_folder(fixture->folder, "bin", 0755);
    make_folder(fixture->folder, "seen", 0777);
    strbuf_appendf(&text, script, fixture->folder);
    write_file(fixture->folder, "bin/bwrap", text.text, 0755);
    strbuf_appendf(&link, "%s/deft-action", fixture->folder);
    assert_int_equal(symlink(SLEEP, link.text), 0);
    write_file(fixture->folder, "action", TEST_ACTION, 0600);
    write_file(fixture->folder, "bundle", TEST_BUNDLE, 0600);
    bwrap_play(fixture, PLAY_SERVER);
    bwrap_play_trial(fixture, "exit 0\n");
}

static void lead_path(struct bwrap_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    fixture->path = mem_dup_text(getenv("PATH"));
    strbuf_appendf(&path, "%s/bin:%s", fixture->folder, fixture->path);
    assert_int_equal(setenv("PATH", path.text, 1), 0);
}

static void make_backend(struct bwrap_fixture *fixture)
{
    if (bwrap_backend_new(&fixture->settings, &fixture->backend, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    fixture->host = (struct bwrap_host *)(void *)fixture->backend;
}

int bwrap_set_up_raw(void **state)
{
    struct bwrap_fixture *fixture = NEW(struct bwrap_fixture);

    make_files(fixture);
    lead_path(fixture);
    (void)snprintf(fixture->state, sizeof(fixture->state), "%s/state", fixture->folder);
    (void)snprintf(fixture->action, sizeof(fixture->action), "%s/action", fixture->folder);
    (void)snprintf(fixture->bundle, sizeof(fixture->bundle), "%s/bundle", fixture->folder);
    fixture->settings = (struct bwrap_settings){.instance = "inst",
                                                .folder = fixture->state,
                                                .root = "",
                                                .image = "own.example/x",
                                                .network = "none",
                                                .cgroups = "none",
                                                .action_binary = fixture->action,
                                                .ca_bundle = fixture->bundle,
                                                .seccomp_profile = "",
                                                .ready_ms = 60000,
                                                .memory_bytes = 64 << 20,
                                                .nano_cpus = 1000000000,
                                                .n_pids = 100,
                                                .n_files = 64,
                                                .tmp_bytes = 5,
                                                .shm_bytes = 6};
    make_backend(fixture);
    *state = fixture;
    return 0;
}

int bwrap_set_up(void **state)
{
    struct bwrap_fixture *fixture = NULL;

    if (bwrap_set_up_raw(state) != 0)
        return -1;
    fixture = *state;
    if (host_prepare(fixture->host, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    return 0;
}

int bwrap_tear_down(void **state)
{
    struct bwrap_fixture *fixture = *state;

    if (fixture->backend->functions->remove_all(fixture->backend, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    fixture->backend->functions->free(fixture->backend);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_int_equal(setenv("PATH", fixture->path, 1), 0);
    mem_free(fixture->path);
    assert_int_equal(bwrap_folder_remove(fixture->folder, &fixture->err), 0);
    mem_free(fixture);
    return 0;
}

void bwrap_restart(struct bwrap_fixture *fixture)
{
    fixture->backend->functions->free(fixture->backend);
    make_backend(fixture);
}

void bwrap_play(const struct bwrap_fixture *fixture, const char *commands)
{
    write_file(fixture->folder, "play", commands, 0644);
}

void bwrap_play_trial(const struct bwrap_fixture *fixture, const char *commands)
{
    write_file(fixture->folder, "trial", commands, 0644);
}

void bwrap_read_seen(const struct bwrap_fixture *fixture, const char *name, struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/seen/%s", fixture->folder, name);
    if (file_read(path.text, FILE_MAX_BYTES, text, &err) < 0)
        fail_msg("%s", err.message);
}

void bwrap_write(const struct bwrap_fixture *fixture, const char *file, const char *text)
{
    write_file(fixture->state, file, text, 0600);
}

void bwrap_read(const struct bwrap_fixture *fixture, const char *file, struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", fixture->state, file);
    if (file_read(path.text, FILE_MAX_BYTES, text, &err) < 0)
        fail_msg("%s", err.message);
}

bool bwrap_exists(const struct bwrap_fixture *fixture, const char *file)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/%s", fixture->state, file);
    return access(path.text, F_OK) == 0;
}

unsigned bwrap_mode(const struct bwrap_fixture *fixture, const char *file)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat facts = {.st_mode = 0};

    strbuf_appendf(&path, "%s/%s", fixture->state, file);
    assert_int_equal(stat(path.text, &facts), 0);
    return facts.st_mode & 07777;
}
