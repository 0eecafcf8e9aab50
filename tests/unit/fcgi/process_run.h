/*
 * deft-fcgi as a process of its own, with the test's database and sockets in a folder.
 *
 * Ownership: a run is the caller's until run_done().
 */
#ifndef DEFT_TESTS_UNIT_FCGI_PROCESS_RUN_H
#define DEFT_TESTS_UNIT_FCGI_PROCESS_RUN_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

#ifndef DEFT_FCGI /* for tools that read this file alone */
#define DEFT_FCGI "./deft-fcgi"
#endif

#define PROCESS_ROOT_KEY "0011223344556677889900112233445566778899001122334455667788990011"

enum { PROCESS_N_SOCKETS = 4 };

/* For cmocka_run_group_tests(): the folder and the settings, as environment variables. */
int process_set_up(void **state);
int process_tear_down(void **state);

void process_set(const char *name, const char *value) NONNULL;
void process_socket_path(size_t i, char path_out[80]) NONNULL;
/* The setting of socket i: its own, of sandboxes, of streams, of probes. */
const char *process_socket_setting(size_t i) MUST_CHECK;

/* A run that ends by itself. */
struct run {
    int status;
    struct strbuf out;
    struct strbuf err;
};

struct run process_run(const char *option, const char *argument);
void run_done(struct run *run) NONNULL;
#define RUN(name, option, argument)                                                                \
    CLEANUP(run_done) struct run name = process_run(option, argument)

/* Fails the test unless the status is that, and both texts are among what the run has written. */
void assert_run(const struct run *run, int status, const char *out, const char *err) NONNULL;

#endif
