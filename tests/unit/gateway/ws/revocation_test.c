/*
 * When a socket is checked for the end of its credential. The database and the sockets are played
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "gateway/core/connection.h"
#include "gateway/ws/revocation.h"
#include "store/conversation/async_store.h"
#include "store/db/db_async.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stub has no owner */
static size_t n_queries;
/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as above */
static size_t n_ids; /* of the last query */

void async_store_find_ended(struct db_async *async, struct ended_query *query)
{
    (void)async;
    n_ids = query->n;
    n_queries++;
}

void async_query_cancel(struct async_query **query)
{
    (void)query;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
}

static struct revocation *start(struct revocation *revocation)
{
    n_queries = 0;
    revocation_init(revocation, (struct db_async *)revocation);
    return revocation;
}

static struct revocable socket_of(const char *credential_id, struct connection *connection)
{
    return (struct revocable){.credential_id = credential_id, .connection = connection};
}

static void an_end_that_was_told_before_the_socket_was_listed_closes_it(void **state)
{
    struct revocation revocation;
    struct connection connection = {.end = CONNECTION_OPEN};
    struct revocable socket = socket_of("a-key", &connection);
    int64_t n_hints = start(&revocation)->n_hints;

    (void)state;
    /* Between the look-up of the key and the opening of its socket. */
    revocation_doubt(&revocation, "a-key");
    assert_int_equal(n_queries, 0);
    revocation_join(&revocation, &socket, n_hints);
    assert_int_equal(n_queries, 1);
    revocation.query.ended(&revocation.query, "a-key");
    revocation.query.done(&revocation.query, NULL);
    assert_int_equal(connection.end, CONNECTION_UNAUTHENTICATED);
    revocation_leave(&socket);
    revocation_done(&revocation);
}

static void a_socket_is_not_checked_without_a_hint(void **state)
{
    struct revocation revocation;
    struct connection connection = {.end = CONNECTION_OPEN};
    struct connection other = {.end = CONNECTION_OPEN};
    struct revocable socket = socket_of("a-key", &connection);
    struct revocable another = socket_of("another-key", &other);

    (void)state;
    start(&revocation);
    revocation_join(&revocation, &socket, revocation.n_hints);
    revocation_join(&revocation, &another, revocation.n_hints);
    assert_int_equal(n_queries, 0);
    revocation_doubt(&revocation, "a-third-key");
    assert_int_equal(n_queries, 0);
    revocation_doubt(&revocation, "another-key");
    assert_int_equal(n_queries, 1);
    assert_int_equal(n_ids, 1);
    assert_string_equal(revocation.query.ids[0], "another-key");
    revocation.query.ended(&revocation.query, "another-key");
    revocation.query.done(&revocation.query, NULL);
    assert_int_equal(connection.end, CONNECTION_OPEN);
    assert_int_equal(other.end, CONNECTION_UNAUTHENTICATED);
    revocation_leave(&socket);
    revocation_leave(&another);
    revocation_done(&revocation);
}

static void a_socket_without_a_credential_is_not_watched(void **state)
{
    struct revocation revocation;
    struct connection connection = {.end = CONNECTION_OPEN};
    struct revocable socket = socket_of("", &connection);

    (void)state;
    start(&revocation);
    revocation_join(&revocation, &socket, revocation.n_hints - 1);
    assert_false(socket.is_listed);
    revocation_doubt_all(&revocation);
    assert_int_equal(revocation.n_hints, 1);
    assert_int_equal(n_queries, 0);
    revocation_leave(&socket);
    socket.credential_id = "a-key";
    revocation_join(&revocation, &socket, revocation.n_hints);
    revocation_leave(&socket);
    assert_false(socket.is_listed);
    revocation_doubt_all(&revocation);
    assert_int_equal(n_queries, 0);
    revocation_done(&revocation);
}

static void a_check_that_failed_is_repeated(void **state)
{
    struct revocation revocation;
    struct connection connection = {.end = CONNECTION_OPEN};
    struct revocable socket = socket_of("a-key", &connection);
    struct error err = ERROR_INIT;

    (void)state;
    start(&revocation);
    revocation_join(&revocation, &socket, revocation.n_hints);
    revocation_doubt_all(&revocation);
    error_set(&err, ERROR_UNAVAILABLE, "no database");
    revocation.query.done(&revocation.query, &err);
    assert_int_equal(n_queries, 2);
    assert_int_equal(connection.end, CONNECTION_OPEN);
    revocation_leave(&socket);
    revocation_done(&revocation);
}

/* Sockets of one key usually come one after the other: it is asked for once. */
static void all_doubted_keys_are_asked_for_in_one_query(void **state)
{
    static const char *const ids[] = {"a-key", "another-key", "another-key"};
    struct revocation revocation;
    struct connection connections[] = {
        {.end = CONNECTION_OPEN}, {.end = CONNECTION_OPEN}, {.end = CONNECTION_OPEN}};
    struct revocable sockets[ARRAY_SIZE(ids)];

    (void)state;
    start(&revocation);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        sockets[i] = socket_of(ids[i], &connections[i]);
        revocation_join(&revocation, &sockets[i], revocation.n_hints);
    }
    revocation_doubt_all(&revocation);
    assert_int_equal(n_queries, 1);
    assert_int_equal(n_ids, 2);
    assert_string_equal(revocation.query.ids[0], "another-key");
    assert_string_equal(revocation.query.ids[1], "a-key");
    revocation.query.ended(&revocation.query, "another-key");
    revocation.query.done(&revocation.query, NULL);
    assert_int_equal(n_queries, 1);
    assert_int_equal(connections[0].end, CONNECTION_OPEN);
    for (size_t i = 1; i < ARRAY_SIZE(ids); i++)
        assert_int_equal(connections[i].end, CONNECTION_UNAUTHENTICATED);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        revocation_leave(&sockets[i]);
    revocation_done(&revocation);
}

/* A hint may tell of a key whose end is after the query that is under way. */
static void hint_during_a_query_is_asked_for_after_it(void **state)
{
    struct revocation revocation;
    struct connection connection = {.end = CONNECTION_OPEN};
    struct revocable socket = socket_of("a-key", &connection);

    (void)state;
    start(&revocation);
    revocation_join(&revocation, &socket, revocation.n_hints);
    revocation_doubt(&revocation, "a-key");
    revocation_doubt(&revocation, "a-key");
    assert_int_equal(n_queries, 1);
    revocation.query.done(&revocation.query, NULL);
    assert_int_equal(n_queries, 2);
    revocation.query.ended(&revocation.query, "a-key");
    revocation.query.done(&revocation.query, NULL);
    assert_int_equal(n_queries, 2);
    assert_int_equal(connection.end, CONNECTION_UNAUTHENTICATED);
    revocation_leave(&socket);
    revocation_done(&revocation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_was_told_before_the_socket_was_listed_closes_it),
        cmocka_unit_test(a_socket_is_not_checked_without_a_hint),
        cmocka_unit_test(a_socket_without_a_credential_is_not_watched),
        cmocka_unit_test(a_check_that_failed_is_repeated),
        cmocka_unit_test(all_doubted_keys_are_asked_for_in_one_query),
        cmocka_unit_test(hint_during_a_query_is_asked_for_after_it),
    };

    return cmocka_run_group_tests_name("revocation", tests, NULL, NULL);
}
