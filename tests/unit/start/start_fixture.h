/*
 * Shared by the tests of lib/start: a server's context with a user as its caller.
 */
#ifndef DEFT_TESTS_UNIT_START_START_FIXTURE_H
#define DEFT_TESTS_UNIT_START_START_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/error.h"
#include "start/start_context.h"

struct start_fixture {
    struct keyring keyring;
    struct start_context context;
};

/* Group set-up and tear-down; *state is a struct start_fixture. The second form has a database. */
int start_set_up(void **state) NONNULL;
int start_set_up_with_db(void **state) NONNULL;
int start_tear_down(void **state) NONNULL;

/* The fixture's context with an empty list of problems, released by start_context_end(). */
struct start_context start_context_begin(void **state) NONNULL MUST_CHECK;
void start_context_end(struct start_context *context);
/* The same with a sandbox's key as its caller. */
struct start_context start_context_of_sandbox(void **state) NONNULL MUST_CHECK;

/* Parses JSON whose quotes are written '. A new reference. */
json_t *start_json(const char *text) NONNULL MUST_CHECK;
/* A request of an agent with the terminal and these further members, "" or ", 'x': 1". */
json_t *start_body(const char *members) NONNULL MUST_CHECK;

/* Fails the test with the error's words when rc is -1. */
void assert_done(int rc, const struct error *err) NONNULL;
/* Fails the test unless a problem was noted at the last member of its place. */
void assert_problem(const struct start_context *context, const char *member) NONNULL;

#endif
