/*
 * The runtime service on a real database, with a back end that only notes what it is told to do.
 *
 * Threading: the back end's functions from any thread.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_LIFECYCLE_SERVICE_FIXTURE_H
#define DEFT_TESTS_UNIT_RUNTIME_LIFECYCLE_SERVICE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "runtime/backend/backend.h"
#include "runtime/core/service.h"

#define TEST_IMAGE "deft-sandbox:1"
#define TEST_BUILD "action-2"

struct played_backend {
    struct backend base;
    struct lock lock; /* guards `told` and `ordered` */
    struct condition told_more;
    struct strbuf told;         /* "pause CONTAINER;remove ID;remove_home HOME;…" */
    struct strbuf ordered;      /* of start(): "ID SESSION CONVERSATION HOME MEMORY CPUS;" */
    bool is_at_rest;            /* the answer of is_at_rest() … */
    enum error_code rest_error; /* … unless it fails with this */
    enum error_code pause_error;
    enum error_code find_error;
    enum error_code resume_error;
    enum error_code remove_error;
    enum error_code start_error;
    enum error_code list_error;
    enum error_code check_error;
    enum error_code build_error;
    const char *build_output;
    const char *image_id;    /* of find_image() */
    const char *ready_home;  /* of take_ready_home(), once; NULL: none */
    const char *end_reason;  /* of explain_end() */
    const char *sandbox_url; /* of start(); NULL: an address that nothing listens at */
    bool is_paused;
    bool is_full; /* of refill() */
    struct seen_sandbox seen[4];
    size_t n_seen;
    struct backend_space space;
};

struct service_fixture {
    struct played_backend backend;
    struct runtime_settings settings;
    struct service service;
    struct uuid owner_id;
};

/* For each test: empty tables, no limits. *state is a struct service_fixture. */
int service_set_up(void **state);
int service_tear_down(void **state);

/* Columns of a row of `runtimes`, as SQL; NULL: those of one that runs and is to run. */
struct test_runtime {
    const char *id; /* 16 letters; its container is "c-ID", its home "h-ID", its session "s-ID" */
    const char *status;
    const char *desired;
    const char *since_age;  /* "2 minutes" */
    const char *unused_age; /* as above */
};
void service_add_runtime(const struct service_fixture *fixture,
                         const struct test_runtime *row) NONNULL;
/* A request for a sandbox of the user; the new row is only stored. Resets *err. */
int service_create(struct service_fixture *fixture, const char *session, const char *image,
                   struct error *err) NONNULL MUST_CHECK;
/* Whether the row with that id fulfills the condition. */
bool service_row_is(const char *table, const char *id, const char *condition) NONNULL MUST_CHECK;
/* A session key that the service can open, for a row of service_add_runtime(). */
void service_seal_key(const struct service_fixture *fixture, const char *id,
                      const char *key) NONNULL;
/* Adds a sandbox to the back end's list. */
struct seen_sandbox *service_see(struct service_fixture *fixture, const char *id,
                                 enum seen_state state) NONNULL;
/* Fails unless the back end was told exactly that since the last call. */
void assert_told(struct service_fixture *fixture, const char *expected) NONNULL;
/* Waits until the back end was told so; fails after a minute. */
void service_await_told(struct service_fixture *fixture, const char *what) NONNULL;
void service_forget_told(struct service_fixture *fixture) NONNULL;
/* True if the back end was told so since the test began. */
bool service_was_told(struct service_fixture *fixture, const char *what) NONNULL MUST_CHECK;

int admin_auth_tests(void);
int api_tests(void);
int build_api_tests(void);
int build_queue_tests(void);
int create_race_tests(void);
int egress_service_tests(void);
int http_front_tests(void);
int idle_reaper_tests(void);
int image_name_tests(void);
int lifecycle_tests(void);
int reconcile_tests(void);
int start_tests(void);
int warm_api_tests(void);
int warm_pool_tests(void);

#endif
