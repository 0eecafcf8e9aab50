#include "process_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/pg.h"
#include "support/program.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): made once per program */
static char folder[] = "/tmp/deft-fcgi-test.XXXXXX";

static const struct {
    const char *setting;
    const char *name;
} sockets[PROCESS_N_SOCKETS] = {
    {"DEFT_FCGI_SOCKET", "main"},
    {"DEFT_FCGI_SANDBOX_SOCKET", "sandbox"},
    {"DEFT_FCGI_STREAM_SOCKET", "stream"},
    {"DEFT_FCGI_PROBE_SOCKET", "probe"},
};

void process_set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

void process_socket_path(size_t i, char path_out[80])
{
    (void)snprintf(path_out, 80, "%s/%s", folder, sockets[i].name);
}

int process_set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < PROCESS_N_SOCKETS; i++) {
        char path[80];

        process_socket_path(i, path);
        process_set(sockets[i].setting, path);
    }
    process_set("DEFT_DATABASE_URL", test_database_url());
    process_set("DEFT_SECRET_KEY", PROCESS_ROOT_KEY);
    process_set("DEFT_CATALOGUE_DIR", DEFT_TOP_SRCDIR "/catalogue");
    process_set("DEFT_APP_URL", "http://page.test");
    /* After a failure the end of the process frees everything. */
    process_set("LSAN_OPTIONS", "detect_leaks=0");
    return 0;
}

int process_tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

void run_done(struct run *run)
{
    strbuf_done(&run->out);
    strbuf_done(&run->err);
}

struct run process_run(const char *option, const char *argument)
{
    struct run run = {.out = STRBUF_INIT, .err = STRBUF_INIT};
    char path[] = DEFT_FCGI;
    char words[2][100] = {"", ""};
    char *arguments[] = {path, NULL, NULL, NULL};

    if (option != NULL) {
        (void)snprintf(words[0], sizeof(words[0]), "%s", option);
        arguments[1] = words[0];
    }
    if (argument != NULL) {
        (void)snprintf(words[1], sizeof(words[1]), "%s", argument);
        arguments[2] = words[1];
    }
    run.status = program_run(arguments, &run.out, &run.err);
    return run;
}

void assert_run(const struct run *run, int status, const char *out, const char *err)
{
    if (run->status != status || strstr(run->out.text, out) == NULL ||
        strstr(run->err.text, err) == NULL)
        fail_msg("expected %d, '%s' and '%s', got %d: %s%s", status, out, err, run->status,
                 run->out.text, run->err.text);
}

const char *process_socket_setting(size_t i)
{
    return sockets[i].setting;
}
