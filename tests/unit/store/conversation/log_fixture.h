/*
 * Logs written by letters, for tests of their branches and of their calls.
 */
#ifndef DEFT_TESTS_UNIT_STORE_CONVERSATION_LOG_FIXTURE_H
#define DEFT_TESTS_UNIT_STORE_CONVERSATION_LOG_FIXTURE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"

struct history;
struct store_fixture;

enum { TEST_LOG_MAX = 64 };

struct test_log {
    const struct store_fixture *fixture;
    struct conversation conversation;
    struct uuid ids[TEST_LOG_MAX]; /* by seq */
    struct uuid call;              /* the newest one */
};

struct test_log test_log_new(const struct store_fixture *fixture) NONNULL MUST_CHECK;
void test_log_done(struct test_log *log);
/*
 * Adds an event per letter: u a user's message, a an agent's, c a call, x a call that cannot be
 * executed, f a call of finish, r the result of the newest call, e an error that ends a run, p a
 * pause, s a status, g the agent's state, b the system prompt.
 */
void test_log_add(struct test_log *log, const char *letters) NONNULL;
/* Goes back to the event of that seq; 0: to the start. */
void test_log_go_back(const struct test_log *log, size_t seq) NONNULL;
/* The history holds the events of these seqs: "1,2,5,". */
void test_log_assert_seqs(const struct history *history, const char *expected) NONNULL;

#endif
