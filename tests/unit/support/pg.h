/*
 * A real PostgreSQL for a test program: one line at the start of main().
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_PG_H
#define DEFT_TESTS_UNIT_SUPPORT_PG_H

#include <stddef.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;

/* Starts the program again under tests/unit/with-postgres.sh unless a database is given already. */
void test_need_postgres(char **argv) NONNULL;
/* Conninfo of the test's database. */
const char *test_database_url(void) MUST_CHECK;
/* A pool of connections to it; fails the test when it cannot be had. */
struct db *test_db_open(size_t n_connections) MUST_CHECK;
/* A user of the test's own, so that tests do not meet. */
struct uuid test_user(struct db *db) NONNULL MUST_CHECK;

#endif
