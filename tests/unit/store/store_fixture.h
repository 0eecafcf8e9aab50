/*
 * Shared by the tests of lib/store: a database, a user of each program's own, conversations,
 * documents.
 */
#ifndef DEFT_TESTS_UNIT_STORE_STORE_FIXTURE_H
#define DEFT_TESTS_UNIT_STORE_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/uuid.h"
#include "store/conversation/conversation_store.h"
#include "store/runtime/runtime_store.h"
#include "store/user/document_store.h"

struct db;

struct store_fixture {
    struct db *db;
    struct uuid user_id;
    struct conversation_scope scope;
};

/* A scope of a user of the test's own. */
struct test_document_scope {
    struct document_scope scope;
    struct keyring keyring;
};

/* Group set-up and tear-down; *state is a struct store_fixture. */
int store_set_up(void **state) NONNULL;
int store_tear_down(void **state) NONNULL;

/* Fails the test with the error's words when rc is -1. */
void assert_done(int rc, const struct error *err) NONNULL;

/* A conversation of the fixture's user that is not stored yet. */
struct conversation store_new_conversation(const struct store_fixture *fixture) NONNULL MUST_CHECK;
/* A stored one, idle and without events. */
struct conversation store_create(const struct store_fixture *fixture) NONNULL MUST_CHECK;
/* A stored one that waits for a worker. */
struct conversation store_create_wanted(const struct store_fixture *fixture) NONNULL MUST_CHECK;

/* Claims until it gets that conversation: other tests' are handed back. */
struct claim store_claim(const struct store_fixture *fixture,
                         const struct conversation *wanted) NONNULL MUST_CHECK;
/* As if its worker had not been heard of for long. */
void store_expire_lease(const struct uuid *id) NONNULL;
/*
 * The conversation has so many events, numbered from 1, each after the one before it in time, in
 * its body as in its row.
 */
void store_assert_gapless(const struct store_fixture *fixture, const struct uuid *id,
                          int64_t n_expected) NONNULL;

/* A stored runtime that runs, in a network of its own. */
struct runtime store_add_runtime(const struct store_fixture *fixture) NONNULL MUST_CHECK;

/* The scope points into the test_document_scope. */
void store_open_document_scope(const struct store_fixture *fixture,
                               struct test_document_scope *scope_out) NONNULL;

#endif
