/*
 * Plain SQL for tests: to look behind the store's back, and to break things on purpose.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_SQL_H
#define DEFT_TESTS_UNIT_SUPPORT_SQL_H

#include <stdint.h>

#include "base/attr.h"

/* Runs a statement; fails the test when it fails. */
void test_sql(const char *sql) NONNULL;
/* The first cell of its result as a number. */
int64_t test_sql_count(const char *sql) NONNULL MUST_CHECK;

#endif
