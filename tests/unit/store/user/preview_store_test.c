/*
 * What the store promises of previews: a pass opens one port of one's own sandbox, once, in the
 * browser that asked for it; its cookie opens that port until the session ends.
 */
#include "store/user/preview_store.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/store_fixture.h"
#include "store/user/user_store.h"
#include "support/pg.h"
#include "support/sql.h"

enum { DAY_S = 86400, LONG_AGO_S = -1, PORT = 3000 };

/* A session of the fixture's user; its id stands for its token's hash. */
static struct uuid open_session(const struct store_fixture *fixture)
{
    struct uuid link = uuid_random();
    struct uuid session = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(user_store_add_link(fixture->db, &fixture->user_id, link.text, DAY_S, &err), &err);
    assert_done(user_store_use_link(fixture->db, link.text, session.text, DAY_S, &err), &err);
    return session;
}

/* A preview that is asked for: tokens' hashes, and the sandbox. */
struct asked {
    struct uuid session;
    struct uuid pass;
    struct uuid state;
    struct uuid cookie;
    struct runtime runtime;
};

static void asked_done(struct asked *asked)
{
    runtime_done(&asked->runtime);
}

static struct asked ask(const struct store_fixture *fixture)
{
    return (struct asked){.session = open_session(fixture),
                          .pass = uuid_random(),
                          .state = uuid_random(),
                          .cookie = uuid_random(),
                          .runtime = store_add_runtime(fixture)};
}

static struct preview_key key_of(const struct asked *asked)
{
    return (struct preview_key){asked->runtime.id, PORT};
}

static enum error_code add_pass(const struct store_fixture *fixture, const struct asked *asked,
                                int64_t valid_s)
{
    const struct preview_key key = key_of(asked);
    const struct preview_grant grant = {asked->pass.text, asked->state.text, asked->session.text,
                                        valid_s};
    struct error err = ERROR_INIT;

    return preview_store_add_pass(fixture->db, &key, &grant, &err) == 0 ? ERROR_NONE : err.code;
}

static enum error_code use_pass(const struct store_fixture *fixture, const struct asked *asked,
                                const struct preview_key *key, const char *state)
{
    const char *const states[] = {"another page's", state};
    const struct preview_hashes hashes = {states, 2};
    struct error err = ERROR_INIT;

    return preview_store_use_pass(fixture->db, key, asked->pass.text, &hashes, asked->cookie.text,
                                  &err) == 0
               ? ERROR_NONE
               : err.code;
}

static enum error_code find(const struct store_fixture *fixture, const struct asked *asked,
                            const struct preview_key *key)
{
    CLEANUP(preview_sandbox_done) struct preview_sandbox sandbox = PREVIEW_SANDBOX_INIT;
    const char *const cookies[] = {"another page's", asked->cookie.text};
    const struct preview_hashes hashes = {cookies, 2};
    struct error err = ERROR_INIT;

    if (preview_store_find(fixture->db, key, &hashes, &sandbox, &err) < 0)
        return err.code;
    assert_int_equal(sandbox.status, RUNTIME_RUNNING);
    return ERROR_NONE;
}

static void pass_opens_its_port_once(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    const struct preview_key key = key_of(&asked);

    assert_int_equal(add_pass(fixture, &asked, DAY_S), ERROR_NONE);
    assert_int_equal(find(fixture, &asked, &key), ERROR_UNAUTHENTICATED);
    assert_int_equal(use_pass(fixture, &asked, &key, asked.state.text), ERROR_NONE);
    assert_int_equal(find(fixture, &asked, &key), ERROR_NONE);
    assert_int_equal(use_pass(fixture, &asked, &key, asked.state.text), ERROR_UNAUTHENTICATED);
}

static void pass_is_for_ones_own_sandbox(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct store_fixture other = {.db = fixture->db, .user_id = test_user(fixture->db)};
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    CLEANUP(asked_done) struct asked foreign = ask(&other);

    foreign.session = asked.session;
    assert_int_equal(add_pass(fixture, &foreign, DAY_S), ERROR_NOT_FOUND);
    asked.session = uuid_random();
    assert_int_equal(add_pass(fixture, &asked, DAY_S), ERROR_NOT_FOUND);
}

/* A pass that was shown at the wrong place is used up as well. */
static void pass_opens_nothing_elsewhere(void **state)
{
    enum { OTHER_SANDBOX, OTHER_PORT, OTHER_BROWSER, TOO_LATE, N_CASES };
    const struct store_fixture *fixture = *state;

    for (int i = 0; i < N_CASES; i++) {
        CLEANUP(asked_done) struct asked asked = ask(fixture);
        CLEANUP(asked_done) struct asked other = ask(fixture);
        const struct preview_key right = key_of(&asked);
        struct preview_key key = right;

        assert_int_equal(add_pass(fixture, &asked, i == TOO_LATE ? LONG_AGO_S : DAY_S), ERROR_NONE);
        if (i == OTHER_SANDBOX)
            key.runtime_id = other.runtime.id;
        if (i == OTHER_PORT)
            key.port = PORT + 1;
        assert_int_equal(use_pass(fixture, &asked, &key,
                                  i == OTHER_BROWSER ? other.state.text : asked.state.text),
                         ERROR_UNAUTHENTICATED);
        assert_int_equal(use_pass(fixture, &asked, &right, asked.state.text),
                         ERROR_UNAUTHENTICATED);
        assert_int_equal(find(fixture, &asked, &right), ERROR_UNAUTHENTICATED);
    }
}

static void cookie_opens_its_port_alone_while_the_session_lasts(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    CLEANUP(asked_done) struct asked other = ask(fixture);
    const struct preview_key key = key_of(&asked);
    const struct preview_key elsewhere = key_of(&other);
    struct preview_key beside = key;
    struct error err = ERROR_INIT;

    beside.port = PORT + 1;
    assert_int_equal(add_pass(fixture, &asked, DAY_S), ERROR_NONE);
    assert_int_equal(use_pass(fixture, &asked, &key, asked.state.text), ERROR_NONE);
    assert_int_equal(find(fixture, &asked, &beside), ERROR_UNAUTHENTICATED);
    assert_int_equal(find(fixture, &asked, &elsewhere), ERROR_UNAUTHENTICATED);
    assert_int_equal(find(fixture, &asked, &key), ERROR_NONE);
    assert_done(user_store_end_session(fixture->db, asked.session.text, &err), &err);
    assert_int_equal(find(fixture, &asked, &key), ERROR_UNAUTHENTICATED);
}

static void sandbox_that_is_anothers_by_now_is_not_shown(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct preview_key key = key_of(&asked);
    const struct uuid other = test_user(fixture->db);

    assert_int_equal(add_pass(fixture, &asked, DAY_S), ERROR_NONE);
    assert_int_equal(use_pass(fixture, &asked, &key, asked.state.text), ERROR_NONE);
    strbuf_appendf(&sql, "UPDATE runtimes SET owner_id = '%s' WHERE id = '%s'", other.text,
                   asked.runtime.id);
    test_sql(sql.text);
    assert_int_equal(find(fixture, &asked, &key), ERROR_UNAUTHENTICATED);
}

static void open_preview(const struct store_fixture *fixture, const struct asked *asked)
{
    const struct preview_key key = key_of(asked);

    assert_int_equal(add_pass(fixture, asked, DAY_S), ERROR_NONE);
    assert_int_equal(use_pass(fixture, asked, &key, asked->state.text), ERROR_NONE);
}

static void set_row(const char *table, const char *key, const char *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE %s SET %s WHERE %s = '%s'", table, columns, key, id);
    test_sql(sql.text);
}

static void preview_tells_how_the_sandbox_is(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    CLEANUP(preview_sandbox_done) struct preview_sandbox sandbox = PREVIEW_SANDBOX_INIT;
    const struct preview_key key = key_of(&asked);
    const char *const cookies[] = {asked.cookie.text};
    const struct preview_hashes hashes = {cookies, 1};
    struct error err = ERROR_INIT;

    open_preview(fixture, &asked);
    for (int i = 0; i < (int)RUNTIME_N_STATUSES * (int)DESIRED_N; i++) {
        enum runtime_status status = (enum runtime_status)(i % RUNTIME_N_STATUSES);
        enum runtime_desire desired = (enum runtime_desire)(i / RUNTIME_N_STATUSES);
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;

        strbuf_appendf(&columns, "status = '%s', desired = '%s', url = 'http://%d'",
                       runtime_status_to_string(status), runtime_desire_to_string(desired), i);
        set_row("runtimes", "id", asked.runtime.id, columns.text);
        assert_done(preview_store_find(fixture->db, &key, &hashes, &sandbox, &err), &err);
        assert_int_equal(sandbox.status, status);
        assert_int_equal(sandbox.desired, desired);
        strbuf_reset(&columns);
        strbuf_appendf(&columns, "http://%d", i);
        assert_string_equal(sandbox.url, columns.text);
    }
    preview_sandbox_done(&sandbox);
    assert_null(sandbox.url);
    preview_sandbox_done(NULL);
}

static bool is_used_now(const struct asked *asked)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM runtimes WHERE id = '%s'"
                   " AND last_used_at > now() - interval '1 minute'",
                   asked->runtime.id);
    return test_sql_count(sql.text) == 1;
}

/* The pages of a preview ask often: one record in ten seconds is enough. */
static void preview_counts_as_use_of_its_sandbox_alone(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    CLEANUP(asked_done) struct asked other = ask(fixture);
    const struct preview_key key = key_of(&asked);

    open_preview(fixture, &asked);
    test_sql("UPDATE runtimes SET last_used_at = now() - interval '10 minutes'");
    assert_int_equal(find(fixture, &asked, &key), ERROR_NONE);
    assert_true(is_used_now(&asked));
    assert_false(is_used_now(&other));
    test_sql("UPDATE runtimes SET last_used_at = now() + interval '1 hour'");
    assert_int_equal(find(fixture, &asked, &key), ERROR_NONE);
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes"
                                    " WHERE last_used_at < now() + interval '30 minutes'"),
                     0);
}

static void cookie_is_good_for_half_a_day(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    const struct preview_key key = key_of(&asked);

    open_preview(fixture, &asked);
    assert_int_equal(test_sql_count("SELECT count(*) FROM preview_sessions WHERE expires_at"
                                    " NOT BETWEEN now() + interval '11 hours'"
                                    " AND now() + interval '12 hours'"),
                     0);
    set_row("preview_sessions", "token_hash", asked.cookie.text,
            "expires_at = now() - interval '1 second'");
    assert_int_equal(find(fixture, &asked, &key), ERROR_UNAUTHENTICATED);
}

static void pass_is_for_a_sandbox_and_a_session_that_are_not_over(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked late = ask(fixture);
    CLEANUP(asked_done) struct asked deleted = ask(fixture);

    set_row("sessions", "token_hash", late.session.text,
            "expires_at = now() - interval '1 second'");
    set_row("runtimes", "id", deleted.runtime.id, "desired = 'deleted'");
    assert_int_equal(add_pass(fixture, &late, DAY_S), ERROR_NOT_FOUND);
    assert_int_equal(add_pass(fixture, &deleted, DAY_S), ERROR_NOT_FOUND);
    set_row("runtimes", "id", deleted.runtime.id, "desired = 'paused'");
    assert_int_equal(add_pass(fixture, &deleted, DAY_S), ERROR_NONE);
}

/* A cookie is good no longer than the session of the page that asked for it. */
static void cookie_ends_with_a_session_that_runs_out(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    const struct preview_key key = key_of(&asked);

    open_preview(fixture, &asked);
    set_row("sessions", "token_hash", asked.session.text,
            "expires_at = now() - interval '1 second'");
    assert_int_equal(find(fixture, &asked, &key), ERROR_UNAUTHENTICATED);
}

static void what_is_over_goes_when_something_new_comes(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(asked_done) struct asked old = ask(fixture);
    CLEANUP(asked_done) struct asked unused = ask(fixture);
    CLEANUP(asked_done) struct asked kept = ask(fixture);
    CLEANUP(asked_done) struct asked asked = ask(fixture);
    const struct preview_key key = key_of(&kept);

    open_preview(fixture, &old);
    open_preview(fixture, &kept);
    assert_int_equal(add_pass(fixture, &unused, DAY_S), ERROR_NONE);
    set_row("preview_sessions", "token_hash", old.cookie.text,
            "expires_at = now() - interval '1 second'");
    set_row("preview_passes", "token_hash", unused.pass.text,
            "expires_at = now() - interval '1 second'");
    open_preview(fixture, &asked);
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM preview_sessions WHERE expires_at < now()"), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM preview_passes WHERE expires_at < now()"),
                     0);
    assert_int_equal(find(fixture, &kept, &key), ERROR_NONE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pass_opens_its_port_once),
        cmocka_unit_test(pass_is_for_ones_own_sandbox),
        cmocka_unit_test(pass_opens_nothing_elsewhere),
        cmocka_unit_test(cookie_opens_its_port_alone_while_the_session_lasts),
        cmocka_unit_test(sandbox_that_is_anothers_by_now_is_not_shown),
        cmocka_unit_test(preview_tells_how_the_sandbox_is),
        cmocka_unit_test(preview_counts_as_use_of_its_sandbox_alone),
        cmocka_unit_test(cookie_is_good_for_half_a_day),
        cmocka_unit_test(pass_is_for_a_sandbox_and_a_session_that_are_not_over),
        cmocka_unit_test(cookie_ends_with_a_session_that_runs_out),
        cmocka_unit_test(what_is_over_goes_when_something_new_comes),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
