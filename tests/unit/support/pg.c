#include "support/pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/db/db.h"
#include "store/user/user_store.h"

#define URL_VARIABLE "DEFT_TEST_DATABASE_URL"

void test_need_postgres(char **argv)
{
    char wrapper[] = DEFT_TOP_SRCDIR "/tests/unit/with-postgres.sh";
    char *args[] = {wrapper, argv[0], NULL};

    if (test_database_url() != NULL)
        return;
    (void)execv(wrapper, args);
    perror(wrapper);
    exit(EXIT_FAILURE);
}

const char *test_database_url(void)
{
    return getenv(URL_VARIABLE);
}

struct db *test_db_open(size_t n_connections)
{
    struct error err = ERROR_INIT;
    struct db *db = NULL;
    struct db_options options = {
        .url = test_database_url(), .application = "deft-test", .n_connections = n_connections};

    if (db_open(&options, &db, &err) < 0)
        fail_msg("%s", err.message);
    return db;
}

struct uuid test_user(struct db *db)
{
    CLEANUP(strbuf_done) struct strbuf email = STRBUF_INIT;
    CLEANUP(user_done) struct user user = USER_INIT;
    struct uuid unique = uuid_random();
    struct error err = ERROR_INIT;

    strbuf_appendf(&email, "%s@test.invalid", unique.text);
    if (user_store_ensure(db, email.text, &user, &err) < 0)
        fail_msg("%s", err.message);
    return user.id;
}
