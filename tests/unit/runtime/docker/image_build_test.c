/*
 * Building an image: what is checked first, what the engine is asked, and what it may answer.
 */
#include "runtime/docker/image_build.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "unit/runtime/docker/docker_fixture.h"

#define BLOCK 512
#define SAID_MAX 4096
#define BUILT "{\"stream\":\"Step 1\\n\"}\n{\"aux\":{\"ID\":\"sha256:9\"}}\n"

struct build_fixture {
    struct docker_fixture *docker;
    struct strbuf context;
    struct strbuf said;
    json_t *names;
    char image_id[BACKEND_IMAGE_BYTES];
};

static void append_entry(struct strbuf *tar, const char *name, const char *bytes, size_t len)
{
    char header[BLOCK] = {0};

    (void)snprintf(header, 100, "%s", name);
    (void)snprintf(header + 124, 12, "%011o", (unsigned)len);
    header[156] = '0';
    (void)snprintf(header + 257, 8, "ustar");
    strbuf_append_bytes(tar, header, BLOCK);
    strbuf_append_bytes(tar, bytes, len);
    while (tar->len % BLOCK != 0)
        strbuf_append_char(tar, '\0');
}

/* A gzipped archive with that Dockerfile, and a file that cannot be compressed. */
static void set_context(struct build_fixture *fixture, const char *dockerfile, size_t file_bytes)
{
    CLEANUP(strbuf_done) struct strbuf tar = STRBUF_INIT;
    CLEANUP(mem_freep) char *file = mem_alloc(file_bytes + 1);
    CLEANUP(mem_freep) char *packed = mem_alloc(2 * file_bytes + BLOCK * BLOCK);
    const char end[2 * BLOCK] = {0};
    z_stream stream = {.next_out = (unsigned char *)packed,
                       .avail_out = (unsigned)(2 * file_bytes + BLOCK * BLOCK)};

    crypto_random(file, file_bytes);
    append_entry(&tar, "Dockerfile", dockerfile, strlen(dockerfile));
    append_entry(&tar, "file", file, file_bytes);
    strbuf_append_bytes(&tar, end, sizeof(end));
    stream.next_in = (unsigned char *)tar.text;
    stream.avail_in = (unsigned)tar.len;
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    strbuf_reset(&fixture->context);
    strbuf_append_bytes(&fixture->context, packed, stream.total_out);
    (void)deflateEnd(&stream);
}

static void set_dockerfile(struct build_fixture *fixture, const char *text)
{
    set_context(fixture, text, 0);
}

static int set_up(void **state)
{
    struct build_fixture *fixture = NEW(struct build_fixture);
    void *docker = NULL;

    if (docker_set_up(&docker) < 0)
        return -1;
    fixture->docker = docker;
    fixture->context = (struct strbuf)STRBUF_INIT;
    fixture->said = (struct strbuf)STRBUF_INIT;
    fixture->names = json_array();
    json_array_append_new(fixture->names, json_string("one:1"));
    json_array_append_new(fixture->names, json_string("a/two"));
    set_dockerfile(fixture, "FROM debian\n");
    fake_engine_set(fixture->docker->engine, "POST /build", 200, BUILT);
    fake_engine_set(fixture->docker->engine, "POST /images/prune", 200, "{}");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct build_fixture *fixture = *state;
    void *docker = fixture->docker;

    json_decref(fixture->names);
    strbuf_done(&fixture->context);
    strbuf_done(&fixture->said);
    mem_free(fixture);
    return docker_tear_down(&docker);
}

static int build(struct build_fixture *fixture)
{
    const struct image_build_request order = {.names = fixture->names,
                                              .context = &fixture->context};
    struct backend *backend = fixture->docker->backend;

    fixture->docker->err = (struct error)ERROR_INIT;
    strbuf_reset(&fixture->said);
    fixture->image_id[0] = '\0';
    return backend->functions->build(backend, &order, fixture->image_id, &fixture->said,
                                     &fixture->docker->err);
}

static void play(struct build_fixture *fixture, int status, const char *body)
{
    fake_engine_set(fixture->docker->engine, "POST /build", status, body);
    fake_engine_forget(fixture->docker->engine);
}

/* The network of the build, as the engine was asked to make it. */
static void read_network(struct build_fixture *fixture, char name[PREALLOC_NAME_BYTES])
{
    const char *body = fake_engine_body(fixture->docker->engine, "POST /networks/create", NULL);
    json_auto_t *parsed = NULL;

    assert_int_equal(json_parse(body, strlen(body), &parsed, &fixture->docker->err), 0);
    (void)snprintf(name, PREALLOC_NAME_BYTES, "%s", json_text_or(parsed, "Name", ""));
}

static void build_has_a_sandboxs_limits_and_its_own_network(void **state)
{
    struct build_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    char network[PREALLOC_NAME_BYTES] = "";
    const char *body = NULL;
    size_t len = 0;

    if (build(fixture) < 0)
        fail_msg("%s", fixture->docker->err.message);
    assert_string_equal(fixture->image_id, "sha256:9");
    assert_string_equal(fixture->said.text, "Step 1\n");
    body = fake_engine_body(fixture->docker->engine, "POST /build", &len);
    assert_int_equal(len, fixture->context.len);
    assert_memory_equal(body, fixture->context.text, len);
    read_network(fixture, network);
    strbuf_appendf(&expected,
                   "POST /networks/create;POST /build?dockerfile=Dockerfile&rm=1&forcerm=1&"
                   "memory=1000&memswap=1000&cpuperiod=100000&cpuquota=200000&cpushares=512&"
                   "shmsize=300&networkmode=%s&t=one%%3A1&t=a%%2Ftwo&labels="
                   "%%7B%%22deft.image_of%%22%%3A%%22inst%%22%%7D;DELETE /networks/%s;"
                   "POST /images/prune?filters=%%7B%%22dangling%%22%%3A%%5B%%22true%%22%%5D%%2C"
                   "%%22label%%22%%3A%%5B%%22deft.image_of%%3Dinst%%22%%5D%%7D;",
                   network, network);
    assert_asked(fixture->docker, expected.text);
    assert_false(docker_knows(fixture->docker, PREALLOC_NETWORK, network));
}

static void failure_is_in_the_output(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum error_code code;
        const char *message;
    } cases[] = {
        {200, "{\"stream\":\"Step 1\"}\n{\"error\":\"no such command\"}\n", ERROR_INVALID,
         "no such command"},
        {200, "{\"error\":\"without newline\"}", ERROR_INVALID, "without newline"},
        {400, "{\"message\":\"parse error\"}", ERROR_INVALID, "parse error"},
        {200, "{\"stream\":\"Step 1\"}\n", ERROR_INTERNAL,
         "the engine built no image and gave no reason"},
        {400, BUILT, ERROR_INTERNAL, "the engine built no image and gave no reason"},
        {500, "no JSON", ERROR_INTERNAL, "the engine built no image and gave no reason"},
    };
    struct build_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char network[PREALLOC_NAME_BYTES] = "";

        play(fixture, cases[i].status, cases[i].body);
        assert_int_equal(build(fixture), -1);
        assert_int_equal(fixture->docker->err.code, cases[i].code);
        assert_string_equal(fixture->docker->err.message, cases[i].message);
        assert_string_equal(fixture->image_id, "");
        if (cases[i].code == ERROR_INVALID)
            assert_true(text_ends_with(fixture->said.text, cases[i].message));
        read_network(fixture, network);
        assert_int_equal(fake_engine_count(fixture->docker->engine, "DELETE /networks/"), 1);
        assert_int_equal(fake_engine_count(fixture->docker->engine, "POST /images/prune"), 0);
        assert_false(docker_knows(fixture->docker, PREALLOC_NETWORK, network));
    }
}

/* Steps without a name would stay for ever. */
static void last_step_of_a_failed_build_goes(void **state)
{
    static const struct {
        const char *step;  /* a line of output */
        const char *facts; /* of the image; NULL: none */
        const char *asked; /* of images */
    } cases[] = {
        {" ---> 0123456789ab", "{}", "GET /images/0123456789ab/json;DELETE /images/0123456789ab;"},
        {" ---> 0123456789ab\\n\"}\n{\"stream\":\" ---> ba9876543210\\n", "{\"RepoTags\":[]}",
         "GET /images/ba9876543210/json;DELETE /images/ba9876543210;"},
        {" ---> 0123456789ab", "{\"RepoTags\":[\"a\"]}", "GET /images/0123456789ab/json;"},
        {" ---> 0123456789ab", "{\"RepoDigests\":[\"a\"]}", "GET /images/0123456789ab/json;"},
        {" ---> 0123456789ab", NULL, "GET /images/0123456789ab/json;"},
        {" ---> 0123456789a", "{}", ""},
        {" ---> Running in 0123456789ab", "{}", ""},
        {"0123456789ab", "{}", ""},
    };
    struct build_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        const char *asked = NULL;

        strbuf_appendf(&body, "{\"stream\":\"%s\"}\n{\"error\":\"e\"}\n", cases[i].step);
        play(fixture, 200, body.text);
        fake_engine_set(fixture->docker->engine, "GET /images/", cases[i].facts != NULL ? 200 : 404,
                        cases[i].facts);
        assert_int_equal(build(fixture), -1);
        asked = strstr(fake_engine_asked(fixture->docker->engine), "DELETE /networks/");
        assert_non_null(asked);
        assert_string_equal(strchr(asked, ';') + 1, cases[i].asked);
    }
}

static void end_of_the_output_is_kept(void **state)
{
    struct build_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    /* Characters of two bytes: cut between them, not in one. */
    for (int i = 0; i < 30; i++) {
        strbuf_append(&body, "{\"stream\":\"x");
        for (int k = 0; k < 300; k++)
            strbuf_append(&body, "\xC3\xA4");
        strbuf_append(&body, "\"}\n");
    }
    strbuf_append(&body, "{\"stream\":\"the end\"}\n{\"aux\":{\"ID\":\"sha256:9\"}}\n");
    play(fixture, 200, body.text);
    assert_int_equal(build(fixture), 0);
    assert_true(text_ends_with(fixture->said.text, "the end"));
    assert_in_range(fixture->said.len, SAID_MAX - 1, 2 * SAID_MAX + 1);
    assert_int_not_equal((unsigned char)fixture->said.text[0] & 0xC0, 0x80);
}

static void line_that_is_too_long_is_skipped(void **state)
{
    struct build_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, "{\"aux\":{\"ID\":\"sha256:1\"},\"x\":\"");
    while (body.len < 64UL * 1024 - 2)
        strbuf_append_char(&body, 'y');
    strbuf_append(&body, "\"}\n"); /* the longest that is read */
    strbuf_append(&body, "{\"stream\":\"");
    for (int i = 0; i < 64 * 1024; i++)
        strbuf_append_char(&body, 'z');
    strbuf_append(&body, "\"}\n{\"stream\":\"after\"}\n");
    play(fixture, 200, body.text);
    assert_int_equal(build(fixture), 0);
    assert_string_equal(fixture->image_id, "sha256:1");
    assert_string_equal(fixture->said.text, "after");
}

static void network_comes_first(void **state)
{
    struct build_fixture *fixture = *state;

    fake_engine_set(fixture->docker->engine, "POST /networks/create", 500, NULL);
    assert_int_equal(build(fixture), -1);
    assert_string_equal(fixture->docker->err.message,
                        "creating a network: the container engine replied 500: nothing");
    assert_int_equal(fake_engine_count(fixture->docker->engine, "POST /build"), 0);
}

/* The sweep removes it. */
static void network_that_stays_is_forgotten(void **state)
{
    struct build_fixture *fixture = *state;
    char network[PREALLOC_NAME_BYTES] = "";

    fake_engine_set(fixture->docker->engine, "DELETE /networks/", 409, NULL);
    fake_engine_set(fixture->docker->engine, "POST /images/prune", 500, NULL);
    assert_int_equal(build(fixture), 0);
    read_network(fixture, network);
    assert_false(docker_knows(fixture->docker, PREALLOC_NETWORK, network));
}

static void large_context_is_sent_whole(void **state)
{
    struct build_fixture *fixture = *state;
    size_t len = 0;

    set_context(fixture, "FROM debian\n", 600UL * 1024);
    assert_true(fixture->context.len > 600UL * 1024);
    if (build(fixture) < 0)
        fail_msg("%s", fixture->docker->err.message);
    assert_memory_equal(fake_engine_body(fixture->docker->engine, "POST /build", &len),
                        fixture->context.text, fixture->context.len);
    assert_int_equal(len, fixture->context.len);
}

static void interrupted_build_says_so(void **state)
{
    struct build_fixture *fixture = *state;

    fixture->docker->docker->settings.build_ms = 100;
    fake_engine_add(fixture->docker->engine,
                    &(struct engine_reply){.request = "POST /build", .is_held = true});
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_TIMEOUT);
    assert_true(text_starts_with(fixture->docker->err.message, "the build was interrupted: "));
}

static void *build_in_thread(void *context)
{
    (void)!build(context);
    return NULL;
}

static void stop_cancels_builds(void **state)
{
    struct build_fixture *fixture = *state;
    struct backend *backend = fixture->docker->backend;
    pthread_t thread = 0;

    fake_engine_add(fixture->docker->engine,
                    &(struct engine_reply){.request = "POST /build", .is_held = true});
    assert_int_equal(pthread_create(&thread, NULL, build_in_thread, fixture), 0);
    assert_true(fake_engine_wait(fixture->docker->engine, "POST /build", 1));
    backend->functions->stop_building(backend);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fixture->docker->err.code, ERROR_CANCELLED);
    fake_engine_set(fixture->docker->engine, "POST /build", 200, BUILT);
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_CANCELLED);
    assert_string_equal(fixture->docker->err.message, "the service is stopping");
}

/* --- base images --- */

static void base_images_triggers_are_checked(void **state)
{
    static const struct {
        const char *triggers;
        enum error_code code;
        const char *message;
    } cases[] = {
        {"[\"RUN true\",3]", ERROR_NONE, ""},
        {"[\"COPY --from=debian /a /b\"]", ERROR_NONE, ""},
        {"[\"RUN true\",\"COPY --from=127.0.0.1:1/x /a /b\"]", ERROR_INVALID,
         "ONBUILD of a/b uses an image that may not be fetched"},
        {"[\"COPY --from=127.0.0.1:2/local /a /b\"]", ERROR_NONE, ""},
        {"[\"ADD http://127.0.0.1/x /y\"]", ERROR_INVALID, "ONBUILD of a/b: "},
    };
    struct build_fixture *fixture = *state;
    struct fake_engine *engine = fixture->docker->engine;

    set_dockerfile(fixture, "FROM debian AS x\nFROM a/b\n");
    fake_engine_set(engine, "GET /images/127.0.0.1:2/local/json", 200, "{}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf facts = STRBUF_INIT;

        strbuf_appendf(&facts, "{\"Config\":{\"OnBuild\":%s}}", cases[i].triggers);
        fake_engine_set(engine, "GET /images/a/b/json", 200, facts.text);
        fake_engine_forget(engine);
        assert_int_equal(build(fixture), cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(fixture->docker->err.code, cases[i].code);
        assert_true(text_starts_with(fixture->docker->err.message, cases[i].message));
        assert_int_equal(fake_engine_count(engine, "POST /build"), cases[i].code == ERROR_NONE);
        assert_int_equal(fake_engine_count(engine, "GET /images/debian"), 0);
        assert_int_equal(fake_engine_count(engine, "POST /networks"), cases[i].code == ERROR_NONE);
    }
}

/* So that the engine builds upon the image that was checked. */
static void base_image_is_fetched_first(void **state)
{
    struct build_fixture *fixture = *state;
    struct fake_engine *engine = fixture->docker->engine;

    set_dockerfile(fixture, "FROM a/b\n");
    fake_engine_set(engine, "GET /images/a/b/json", 200, "{}");
    fake_engine_add(engine, &(struct engine_reply){
                                .request = "GET /images/a/b/json", .status = 404, .n_times = 1});
    fake_engine_set(engine, "POST /images/create", 200, NULL);
    assert_int_equal(build(fixture), 0);
    assert_int_equal(fake_engine_count(engine, "GET /images/a/b/json"), 2);
    assert_int_equal(fake_engine_count(engine, "POST /images/create?fromImage=a%2Fb&tag=latest"),
                     1);
    fake_engine_set(engine, "GET /images/a/b/json", 404, NULL);
    fake_engine_forget(engine);
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fake_engine_count(engine, "GET /images/a/b/json"), 2);
    fake_engine_set(engine, "POST /images/create", 500, NULL);
    fake_engine_forget(engine);
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fake_engine_count(engine, "GET /images/a/b/json"), 1);
    fake_engine_set(engine, "GET /images/a/b/json", 500, NULL);
    fake_engine_forget(engine);
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fake_engine_count(engine, "POST "), 0);
}

static void context_without_a_dockerfile_is_refused(void **state)
{
    struct build_fixture *fixture = *state;

    strbuf_reset(&fixture->context);
    strbuf_append(&fixture->context, "no archive");
    assert_int_equal(build(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_INVALID);
    assert_asked(fixture->docker, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int docker_image_build_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(build_has_a_sandboxs_limits_and_its_own_network),
        TEST(failure_is_in_the_output),
        TEST(last_step_of_a_failed_build_goes),
        TEST(end_of_the_output_is_kept),
        TEST(line_that_is_too_long_is_skipped),
        TEST(network_comes_first),
        TEST(network_that_stays_is_forgotten),
        TEST(large_context_is_sent_whole),
        TEST(interrupted_build_says_so),
        TEST(stop_cancels_builds),
        TEST(base_images_triggers_are_checked),
        TEST(base_image_is_fetched_first),
        TEST(context_without_a_dockerfile_is_refused),
    };

    return cmocka_run_group_tests_name("runtime/docker/image_build", tests, NULL, NULL);
}
