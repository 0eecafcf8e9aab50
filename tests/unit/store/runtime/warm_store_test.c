/*
 * The store's guarantees for warm sandboxes: each is claimed once, completely, by a matching
 * request, or stays where it is.
 */
#include "store/runtime/warm_store.h"

#include <pthread.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db.h"
#include "store/runtime/runtime_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define N_CLAIMERS 8
#define N_MEMBERS 3

/* Each test has a class of its own. */
static struct warm_class new_class(const struct uuid *image)
{
    return (struct warm_class){
        .image = image->text, .memory_bytes = 1 << 20, .nano_cpus = 5, .agent_build = "action-1"};
}

static struct warm_sandbox add(const struct store_fixture *fixture, const struct warm_class *class)
{
    struct warm_sandbox member = {.image = mem_dup_text(class->image),
                                  .memory_bytes = class->memory_bytes,
                                  .nano_cpus = class->nano_cpus,
                                  .agent_build = mem_dup_text(class->agent_build),
                                  .home = mem_dup_text("0a1b")};
    struct uuid random = uuid_random();
    struct error err = ERROR_INIT;

    memcpy(member.id, random.text, sizeof(member.id) - 1);
    assert_done(warm_store_add(fixture->db, &member, &err), &err);
    return member;
}

static struct warm_sandbox add_ready(const struct store_fixture *fixture,
                                     const struct warm_class *class)
{
    struct warm_sandbox member = add(fixture, class);
    struct error err = ERROR_INIT;

    member.image_id = mem_dup_text("sha256:1");
    member.container_id = mem_dup_text("c0ffee");
    member.network = mem_dup_text("net-1");
    member.url = mem_dup_text("http://10.1.2.3:8000");
    member.init_key = mem_dup_text("sealed");
    assert_done(warm_store_set_ready(fixture->db, &member, &err), &err);
    return member;
}

struct claimer {
    const struct store_fixture *fixture;
    const struct warm_class *class;
    struct uuid session;
    char id[17]; /* of what it got; "" when nothing */
    struct error err;
};

static int fill(void *context, const struct warm_sandbox *member, struct runtime *runtime_out,
                struct error *err)
{
    const struct claimer *claimer = context;
    struct uuid hash = uuid_random();

    (void)err;
    memcpy(runtime_out->id, member->id, sizeof(runtime_out->id));
    runtime_out->session_id = mem_dup_text(claimer->session.text);
    runtime_out->owner_id = claimer->fixture->user_id;
    runtime_out->image = mem_dup_text(member->image);
    runtime_out->container_id = mem_dup_text(member->container_id);
    runtime_out->url = mem_dup_text(member->url);
    runtime_out->network = mem_dup_text(member->network);
    runtime_out->spec = json_object();
    runtime_out->session_key = mem_dup_text("sealed");
    memcpy(runtime_out->session_key_hash, hash.text, sizeof(hash.text));
    return 0;
}

static void *run_claim(void *context)
{
    struct claimer *claimer = context;
    const struct warm_taker taker = {.context = claimer, .fill = fill};
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (warm_store_claim(claimer->fixture->db, claimer->class, &taker, &runtime, &claimer->err) ==
        0)
        memcpy(claimer->id, runtime.id, sizeof(claimer->id));
    return NULL;
}

static void claim(struct claimer *claimer)
{
    claimer->session = uuid_random();
    claimer->err = (struct error)ERROR_INIT;
    claimer->id[0] = '\0';
    (void)run_claim(claimer);
}

static bool is_there(const struct store_fixture *fixture, const char *id)
{
    CLEANUP(warm_sandbox_done) struct warm_sandbox found = WARM_SANDBOX_INIT;
    struct error err = ERROR_INIT;

    return warm_store_get(fixture->db, id, &found, &err) == 0;
}

static void claimed_one_becomes_a_runtime_at_its_place(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = add_ready(fixture, &class);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct claimer claimer = {.fixture = fixture, .class = &class};
    struct error err = ERROR_INIT;

    claim(&claimer);
    assert_string_equal(claimer.id, member.id);
    assert_false(is_there(fixture, member.id));
    assert_done(runtime_store_get(fixture->db, member.id, &found, &err), &err);
    assert_int_equal(found.status, RUNTIME_STARTING);
    assert_string_equal(found.url, member.url);
    assert_string_equal(found.container_id, member.container_id);
    assert_string_equal(found.network, member.network);
    claim(&claimer);
    assert_string_equal(claimer.id, "");
    assert_int_equal(claimer.err.code, ERROR_NOT_FOUND);
}

static void nobody_gets_one_that_does_not_fit_or_is_not_ready(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct uuid other_image = uuid_random();
    struct warm_class class = new_class(&image);
    struct warm_class others[4] = {class, class, class, class};
    struct claimer claimer = {.fixture = fixture, .class = &class};
    CLEANUP(warm_sandbox_done) struct warm_sandbox unready = add(fixture, &class);
    CLEANUP(warm_sandbox_done) struct warm_sandbox ready = WARM_SANDBOX_INIT;

    claim(&claimer);
    assert_string_equal(claimer.id, "");
    ready = add_ready(fixture, &class);
    others[0].image = other_image.text;
    others[1].memory_bytes++;
    others[2].nano_cpus++;
    others[3].agent_build = "action-2";
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        claimer.class = &others[i];
        claim(&claimer);
        assert_string_equal(claimer.id, "");
        assert_int_equal(claimer.err.code, ERROR_NOT_FOUND);
    }
    claimer.class = &class;
    claim(&claimer);
    assert_string_equal(claimer.id, ready.id);
    assert_true(is_there(fixture, unready.id));
}

static void claim_that_fails_leaves_the_member(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    CLEANUP(warm_sandbox_done) struct warm_sandbox first = add_ready(fixture, &class);
    CLEANUP(warm_sandbox_done) struct warm_sandbox second = add_ready(fixture, &class);
    struct claimer claimer = {.fixture = fixture, .class = &class};

    claim(&claimer);
    assert_string_equal(claimer.id, first.id);
    /* The same session again: it has a live one. */
    claimer.id[0] = '\0';
    (void)run_claim(&claimer);
    assert_string_equal(claimer.id, "");
    assert_int_equal(claimer.err.code, ERROR_CONFLICT);
    assert_true(is_there(fixture, second.id));
}

static void each_is_claimed_once_however_many_ask(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    struct claimer claimers[N_CLAIMERS];
    pthread_t threads[N_CLAIMERS];
    size_t n_got = 0;

    for (size_t i = 0; i < N_MEMBERS; i++) {
        CLEANUP(warm_sandbox_done) struct warm_sandbox member = add_ready(fixture, &class);
    }
    for (size_t i = 0; i < N_CLAIMERS; i++) {
        claimers[i] = (struct claimer){
            .fixture = fixture, .class = &class, .session = uuid_random(), .err = ERROR_INIT};
        assert_int_equal(pthread_create(&threads[i], NULL, run_claim, &claimers[i]), 0);
    }
    for (size_t i = 0; i < N_CLAIMERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < N_CLAIMERS; i++) {
        n_got += claimers[i].id[0] != '\0';
        for (size_t k = 0; k < i; k++)
            assert_false(claimers[i].id[0] != '\0' && text_equal(claimers[i].id, claimers[k].id));
    }
    assert_int_equal(n_got, N_MEMBERS);
}

/* Services that claim at once do not wait for each other. */
static void member_that_another_has_locked_is_passed_over(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    CLEANUP(warm_sandbox_done) struct warm_sandbox first = add_ready(fixture, &class);
    CLEANUP(warm_sandbox_done) struct warm_sandbox second = add_ready(fixture, &class);
    struct claimer claimer = {.fixture = fixture, .class = &class};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *tx = test_tx_begin();

    strbuf_appendf(&sql, "SELECT 1 FROM warm_sandboxes WHERE id = '%s' FOR UPDATE", first.id);
    test_tx_sql(tx, sql.text);
    claim(&claimer);
    test_tx_commit(tx);
    assert_string_equal(claimer.id, second.id);
    claim(&claimer);
    assert_string_equal(claimer.id, first.id);
}

static void removed_one_cannot_be_claimed_nor_removed_again(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = add_ready(fixture, &class);
    struct claimer claimer = {.fixture = fixture, .class = &class};
    struct error err = ERROR_INIT;

    assert_done(warm_store_remove(fixture->db, member.id, &err), &err);
    assert_int_equal(warm_store_remove(fixture->db, member.id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(warm_store_set_ready(fixture->db, &member, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    claim(&claimer);
    assert_string_equal(claimer.id, "");
}

static void all_are_listed(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid image = uuid_random();
    struct warm_class class = new_class(&image);
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = add_ready(fixture, &class);
    CLEANUP(warm_list_done) struct warm_list list = {.items = NULL};
    struct error err = ERROR_INIT;
    size_t n = 0;

    assert_done(warm_store_list(fixture->db, &list, &err), &err);
    for (size_t i = 0; i < list.n; i++) {
        if (!text_equal(list.items[i].id, member.id))
            continue;
        n++;
        assert_true(list.items[i].is_ready);
        assert_string_equal(list.items[i].home, member.home);
        assert_string_equal(list.items[i].image_id, member.image_id);
        assert_string_equal(list.items[i].init_key, member.init_key);
    }
    assert_int_equal(n, 1);
}

static void missing_one_is_released(void **state)
{
    (void)state;
    warm_sandbox_done(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claimed_one_becomes_a_runtime_at_its_place),
        cmocka_unit_test(nobody_gets_one_that_does_not_fit_or_is_not_ready),
        cmocka_unit_test(claim_that_fails_leaves_the_member),
        cmocka_unit_test(each_is_claimed_once_however_many_ask),
        cmocka_unit_test(member_that_another_has_locked_is_passed_over),
        cmocka_unit_test(removed_one_cannot_be_claimed_nor_removed_again),
        cmocka_unit_test(all_are_listed),
        cmocka_unit_test(missing_one_is_released),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests_name("store/warm_store", tests, store_set_up, store_tear_down);
}
