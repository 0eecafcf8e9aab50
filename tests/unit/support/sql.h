/*
 * Plain SQL for tests: to read rows without the store, and to break things on purpose.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_SQL_H
#define DEFT_TESTS_UNIT_SUPPORT_SQL_H

#include <stdint.h>

#include "base/attr.h"

/* Runs a statement; fails the test when it fails. */
void test_sql(const char *sql) NONNULL;
/* The first cell of its result as a number. */
int64_t test_sql_count(const char *sql) NONNULL MUST_CHECK;

/*
 * A transaction on a connection of its own: what it locks stays locked until test_tx_commit(),
 * which frees it.
 */
struct test_tx;
struct test_tx *test_tx_begin(void) MUST_CHECK;
void test_tx_sql(struct test_tx *tx, const char *sql) NONNULL;
void test_tx_commit(struct test_tx *tx) NONNULL;
/* Waits until a statement in the test's database waits for a lock; fails after a minute. */
void test_wait_blocked(void);

#endif
