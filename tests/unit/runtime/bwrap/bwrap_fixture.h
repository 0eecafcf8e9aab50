/*
 * The process back end with a bubblewrap that a shell script plays.
 *
 * The script writes its arguments and environment to files, and then runs commands of the test:
 * those of the trial if its last argument is "true", otherwise those of a start.
 *
 * Ownership: bwrap_tear_down() ends all sandboxes and releases everything.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_BWRAP_BWRAP_FIXTURE_H
#define DEFT_TESTS_UNIT_RUNTIME_BWRAP_BWRAP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "runtime/bwrap/bwrap_host.h"

#define TEST_ACTION "the program"
#define TEST_BUNDLE "the certificates"
#define TEST_HOME "0000010123"
#define TEST_RUNTIME "abcdefghijkl"

/* Starts a server and reports it as bubblewrap does. "$dir/deft-action" waits until it is ended. */
#define PLAY_START                                                                                 \
    "\"$dir/deft-action\" 600 &\n"                                                                 \
    "child=$!\n"                                                                                   \
    "until [ \"$(readlink /proc/$child/exe)\" = \"$(readlink -f \"$dir/deft-action\")\" ]; do\n"   \
    "  sleep 0.01\n"                                                                               \
    "done\n"                                                                                       \
    "echo \"{\\\"child-pid\\\": $child,"                                                           \
    " \\\"pid-namespace\\\": $(stat -L -c %i /proc/$child/ns/pid)}\" >&4\n"
#define PLAY_READY "echo '{\"ready\": true}'\n"
/* Reports the server's end. */
#define PLAY_END                                                                                   \
    "wait $child\n"                                                                                \
    "code=$?\n"                                                                                    \
    "echo \"{\\\"exit-code\\\": $code}\" >&4\n"
#define PLAY_SERVER PLAY_START PLAY_READY PLAY_END

struct bwrap_fixture {
    char folder[32];
    char state[48]; /* the setting's folder, made by the first preparation */
    char action[48];
    char bundle[48];
    char *path; /* the variable as it was */
    struct bwrap_settings settings;
    struct backend *backend;
    struct bwrap_host *host; /* the same */
    struct error err;        /* of the last call */
};

/* *state is a struct bwrap_fixture; the host is prepared. */
int bwrap_set_up(void **state);
/* As above without a preparation. */
int bwrap_set_up_raw(void **state);
int bwrap_tear_down(void **state);

/* Another back end with the present settings. */
void bwrap_restart(struct bwrap_fixture *fixture) NONNULL;
/* The commands of a start, and of the trial. */
void bwrap_play(const struct bwrap_fixture *fixture, const char *commands) NONNULL;
void bwrap_play_trial(const struct bwrap_fixture *fixture, const char *commands) NONNULL;
/* Appends what the script wrote: "arguments" or "environment", one per line. */
void bwrap_read_seen(const struct bwrap_fixture *fixture, const char *name,
                     struct strbuf *text) NONNULL;

/* Below the settings' folder. */
void bwrap_write(const struct bwrap_fixture *fixture, const char *file, const char *text) NONNULL;
void bwrap_read(const struct bwrap_fixture *fixture, const char *file, struct strbuf *text) NONNULL;
bool bwrap_exists(const struct bwrap_fixture *fixture, const char *file) NONNULL MUST_CHECK;
/* The mode of a file or folder, without its type. */
unsigned bwrap_mode(const struct bwrap_fixture *fixture, const char *file) NONNULL MUST_CHECK;

#define BWRAP_TEST(name) cmocka_unit_test_setup_teardown(name, bwrap_set_up, bwrap_tear_down)
#define BWRAP_RAW_TEST(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, bwrap_set_up_raw, bwrap_tear_down)

int test_box(void);
int test_box_start(void);
int test_box_watch(void);
int test_bwrap_arguments(void);
int test_bwrap_functions(void);
int test_cgroup(void);
int test_cgroup_files(void);
int test_home_folder(void);
int test_host_prepare(void);
int test_process_spawn(void);
int test_process_tree(void);
int test_seccomp_filter(void);

#endif
