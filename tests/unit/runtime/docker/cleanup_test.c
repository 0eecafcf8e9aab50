/*
 * Objects on the engine that belong to no row.
 */
#include "runtime/docker/cleanup.h"

#include <string.h>

#include "base/json.h"
#include "runtime/backend/bridge.h"
#include "runtime/backend/sandbox_users.h"
#include "unit/runtime/docker/docker_fixture.h"

#define LISTS "GET /networks?" FILTER_OURS ";GET /volumes?" FILTER_OURS ";"
#define STEPS                                                                                      \
    "GET /containers/json?all=1&filters=%7B%22status%22%3A%5B%22created%22%2C%22exited%22%5D%7D;"

/* Rows with the network "n-row" and the home "h-row". */
static int load(void *context, struct kept_names *kept_out, struct error *err)
{
    enum error_code *code = context;

    if (*code != ERROR_NONE)
        return error_set(err, *code, "as the test wants it");
    kept_names_add_network(kept_out, "n-other");
    kept_names_add_network(kept_out, "n-row");
    kept_names_add_home(kept_out, "h-other");
    kept_names_add_home(kept_out, "h-row");
    return 0;
}

static int tidy(struct docker_fixture *fixture, enum error_code code)
{
    const struct kept_source source = {.context = &code, .load = load};

    fixture->err = (struct error)ERROR_INIT;
    return fixture->backend->functions->tidy(fixture->backend, &source, &fixture->err);
}

static void play_lists(struct docker_fixture *fixture, const char *networks, const char *volumes,
                       const char *containers)
{
    fake_engine_set(fixture->engine, "GET /networks?", 200, networks);
    fake_engine_set(fixture->engine, "GET /volumes?", 200, volumes);
    fake_engine_set(fixture->engine, "GET /containers/json", 200, containers);
}

static void nothing_that_is_in_use_goes(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf volumes = STRBUF_INIT;

    docker_add_ready(fixture, "n-ready", "h-ready");
    prealloc_add_used(fixture->docker->prealloc, PREALLOC_NETWORK, "n-used");
    prealloc_add_used(fixture->docker->prealloc, PREALLOC_HOME, "h-used");
    strbuf_appendf(&volumes,
                   "{\"Volumes\":[{\"Name\":\"%s\"},{\"Name\":\"inst-ws-h-row\"},"
                   "{\"Name\":\"inst-j-h-row\"},{\"Name\":\"inst-ws-h-ready\"},"
                   "{\"Name\":\"inst-j-h-used\"}]}",
                   fixture->docker->action_volume);
    play_lists(fixture, "[{\"Name\":\"n-row\"},{\"Name\":\"n-ready\"},{\"Name\":\"n-used\"}]",
               volumes.text, "[]");
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    assert_asked(fixture, LISTS STEPS);
}

static void leftovers_go(void **state)
{
    struct docker_fixture *fixture = *state;
    static const struct users_in_use none = {.bits = {0}};

    docker_add_ready(fixture, "n-ready", "h-ready");
    play_lists(fixture, "[{\"Name\":\"n-left\"},{\"Name\":\"n-row\"}]",
               "{\"Volumes\":[{\"Name\":\"inst-ws-left-20000\"},{\"Name\":\"inst-j-left-20000\"},"
               "{\"Name\":\"inst-action-old\"},{\"Name\":\"inst-x-h-row\"},"
               "{\"Name\":\"else-ws-h-row\"}]}",
               "[]");
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    assert_asked(fixture,
                 LISTS "DELETE /networks/n-left;DELETE /volumes/inst-ws-left-20000;"
                       "DELETE /volumes/inst-j-left-20000;DELETE /volumes/inst-action-old;"
                       "DELETE /volumes/inst-x-h-row;DELETE /volumes/else-ws-h-row;" STEPS);
    assert_memory_equal(&fixture->docker->users, &none, sizeof(none));
}

/* One whose removal fails is removed next time; the others are not kept waiting. */
static void failed_removals_stop_nothing(void **state)
{
    static const int statuses[] = {500, 409};
    struct docker_fixture *fixture = *state;
    static const struct users_in_use none = {.bits = {0}};

    play_lists(fixture, "[{\"Name\":\"n-1\"},{\"Name\":\"n-2\"}]",
               "{\"Volumes\":[{\"Name\":\"inst-ws-a-20000\"},{\"Name\":\"inst-ws-b-20002\"}]}",
               "[]");
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        fake_engine_set(fixture->engine, "DELETE /", statuses[i], NULL);
        fixture->docker->users = none;
        assert_int_equal(tidy(fixture, ERROR_NONE), 0);
        assert_asked(fixture, LISTS "DELETE /networks/n-1;DELETE /networks/n-2;"
                                    "DELETE /volumes/inst-ws-a-20000;"
                                    "DELETE /volumes/inst-ws-b-20002;" STEPS);
        /* Its users may still run. */
        assert_memory_not_equal(&fixture->docker->users, &none, sizeof(none));
    }
}

static void nothing_goes_if_the_rows_are_unknown(void **state)
{
    struct docker_fixture *fixture = *state;

    play_lists(fixture, "[{\"Name\":\"n-left\"}]", "{\"Volumes\":[{\"Name\":\"inst-ws-left\"}]}",
               "[]");
    assert_int_equal(tidy(fixture, ERROR_UNAVAILABLE), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_asked(fixture, LISTS);
    fake_engine_set(fixture->engine, "GET /volumes?", 500, NULL);
    assert_int_equal(tidy(fixture, ERROR_NONE), -1);
    assert_asked(fixture, LISTS);
    fake_engine_set(fixture->engine, "GET /networks?", 500, NULL);
    assert_int_equal(tidy(fixture, ERROR_NONE), -1);
    assert_asked(fixture, "GET /networks?" FILTER_OURS ";");
}

static void more_than_is_wanted_in_advance_goes(void **state)
{
    struct docker_fixture *fixture = *state;
    struct prealloc *prealloc = fixture->docker->prealloc;

    play_lists(fixture, "[]", "{\"Volumes\":[]}", "[]");
    for (int i = 0; i < 3; i++) {
        const char network[] = {'n', (char)('1' + i), '\0'};
        const char home[] = {'h', (char)('1' + i), '\0'};

        docker_add_ready(fixture, network, home);
    }
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_NETWORK), 1);
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /networks/n"), 2);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /volumes/inst-ws-h"), 2);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /volumes/inst-j-h"), 2);
    fake_engine_set(fixture->engine, "DELETE /", 500, NULL);
    fixture->docker->settings.n_prealloc = 0;
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    for (int i = 0; i < 3; i++) {
        const char network[] = {'n', (char)('1' + i), '\0'};
        const char home[] = {'h', (char)('1' + i), '\0'};

        assert_false(docker_knows(fixture, PREALLOC_NETWORK, network));
        assert_false(docker_knows(fixture, PREALLOC_HOME, home));
    }
}

/* --- steps of builds --- */

/* A network's name as this instance gives them. */
static void append_network(const char *instance, struct strbuf *out)
{
    char id[BRIDGE_ID_BYTES] = "";
    char name[PREALLOC_NAME_BYTES] = "";

    bridge_new_id(instance, id);
    bridge_network_name(instance, id, name);
    strbuf_append(out, name);
}

static void steps_of_a_killed_build_go(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf ours = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf theirs = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf running = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;

    append_network("inst", &ours);
    append_network("else", &theirs);
    append_network("inst", &running);
    prealloc_add_used(fixture->docker->prealloc, PREALLOC_NETWORK, running.text);
    strbuf_appendf(&list,
                   "[{\"Id\":\"theirs\",\"HostConfig\":{\"NetworkMode\":\"%s\"}},"
                   "{\"Id\":\"running\",\"HostConfig\":{\"NetworkMode\":\"%s\"}},"
                   "{\"Id\":\"labelled\",\"Labels\":{\"deft.instance\":\"inst\"},"
                   "\"HostConfig\":{\"NetworkMode\":\"%s\"}},"
                   "{\"Id\":\"host\",\"HostConfig\":{\"NetworkMode\":\"host\"}},{\"Id\":\"bare\"},"
                   "{\"Id\":\"lost\",\"ImageID\":\"sha256:5\",\"Labels\":{},"
                   "\"HostConfig\":{\"NetworkMode\":\"%s\"}}]",
                   theirs.text, running.text, ours.text, ours.text);
    play_lists(fixture, "[]", "{\"Volumes\":[]}", list.text);
    fake_engine_set(fixture->engine, "GET /images/", 200, "{\"RepoTags\":[]}");
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    assert_asked(fixture, LISTS STEPS "DELETE /containers/lost?force=1&v=1;"
                                      "GET /images/sha256:5/json;DELETE /images/sha256:5;");
    fake_engine_set(fixture->engine, "DELETE /containers/", 500, NULL);
    assert_int_equal(tidy(fixture, ERROR_NONE), 0);
    assert_asked(fixture, LISTS STEPS "DELETE /containers/lost?force=1&v=1;");
    fake_engine_set(fixture->engine, "GET /containers/json", 500, NULL);
    assert_int_equal(tidy(fixture, ERROR_NONE), -1);
}

/* --- everything --- */

static void whole_instance_goes(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf volumes = STRBUF_INIT;

    docker_add_ready(fixture, "n-ready", "h-ready");
    strbuf_appendf(&volumes, "{\"Volumes\":[{\"Name\":\"inst-ws-h-ready\"},{\"Name\":\"%s\"}]}",
                   fixture->docker->action_volume);
    play_lists(fixture, "[{\"Name\":\"n-ready\"}]", volumes.text,
               "[{\"Id\":\"c-8\"},{\"Id\":\"c-9\"}]");
    fake_engine_set(fixture->engine, "GET /images/json", 200,
                    "[{\"Id\":\"sha256:1\"},{\"Id\":\"sha256:2\"}]");
    assert_int_equal(fixture->backend->functions->remove_all(fixture->backend, &fixture->err), 0);
    strbuf_reset(&volumes);
    strbuf_append(&volumes, fake_engine_asked(fixture->engine));
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /containers/c-8?force=1"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /containers/c-9?force=1"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /images/sha256:1?force=1"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /images/sha256:2?force=1"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /networks/n-ready"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /volumes/inst-ws-h-ready"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /volumes/inst-action-"), 1);
    assert_non_null(strstr(volumes.text, "GET /images/json?filters=%7B%22label%22%3A%5B%22"
                                         "deft.image_of%3Dinst%22%5D%7D;"));
}

static void removal_of_all_says_why_not(void **state)
{
    static const char *const requests[] = {"GET /networks?", "DELETE /images/", "GET /images/json",
                                           "DELETE /containers/", "GET /containers/json"};
    struct docker_fixture *fixture = *state;

    play_lists(fixture, "[]", "{}", "[{\"Id\":\"c-8\"}]");
    fake_engine_set(fixture->engine, "GET /images/json", 200, "[{\"Id\":\"sha256:1\"}]");
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        fake_engine_set(fixture->engine, requests[i], 500, NULL);
        fixture->err = (struct error)ERROR_INIT;
        assert_int_equal(fixture->backend->functions->remove_all(fixture->backend, &fixture->err),
                         -1);
        assert_int_equal(fixture->err.code, ERROR_INTERNAL);
    }
}

int docker_cleanup_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(nothing_that_is_in_use_goes),
        DOCKER_TEST(leftovers_go),
        DOCKER_TEST(failed_removals_stop_nothing),
        DOCKER_TEST(nothing_goes_if_the_rows_are_unknown),
        DOCKER_TEST(more_than_is_wanted_in_advance_goes),
        DOCKER_TEST(steps_of_a_killed_build_go),
        DOCKER_TEST(whole_instance_goes),
        DOCKER_TEST(removal_of_all_says_why_not),
    };

    return cmocka_run_group_tests_name("runtime/docker/cleanup", tests, NULL, NULL);
}
