/*
 * Requests to build an image: what is refused, and which requests are for the same build.
 */
#include "runtime/api/build_api.h"

#include <pthread.h>
#include <string.h>

#include <zlib.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "runtime/images/build_queue.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/api/api_fixture.h"

enum { PATIENCE_MS = 60000, PACKED_BYTES = 4096 };

#define TYPE "multipart/form-data; boundary=xyz"
#define NAME "localhost/inst/house/x:1"
#define STATUS_OF "/build_status?build_id="

static void *run_queue(void *context)
{
    build_queue_run(context);
    return NULL;
}

/* Packs a text as a context. */
static size_t compress_text(const char *text, unsigned char packed[PACKED_BYTES])
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text,
                       .avail_in = (unsigned)strlen(text),
                       .next_out = packed,
                       .avail_out = PACKED_BYTES};

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    (void)deflateEnd(&stream);
    return stream.total_out;
}

/* A form with the packed text as its context. */
static void append_form(struct strbuf *body, const char *image, const char *text)
{
    unsigned char packed[PACKED_BYTES];
    size_t len = compress_text(text, packed);

    strbuf_appendf(body,
                   "--xyz\r\nContent-Disposition: form-data; name=\"target_image\"\r\n\r\n%s\r\n"
                   "--xyz\r\nContent-Disposition: form-data; name=\"context\"; filename=\"c\"\r\n"
                   "\r\n",
                   image);
    base64_append(body, packed, len);
    strbuf_append(body, "\r\n--xyz--\r\n");
}

static void append_hash(struct strbuf *sql, const char *text)
{
    unsigned char packed[PACKED_BYTES];
    size_t len = compress_text(text, packed);
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_sha256_hex((const char *)packed, len, hash);
    strbuf_append(sql, hash);
}

struct queue_thread {
    struct service_fixture *fixture;
    pthread_t thread;
};

/* Waits until the queue takes requests. */
static struct queue_thread start_queue(struct service_fixture *fixture)
{
    struct queue_thread started = {.fixture = fixture};
    const struct uuid one = uuid_random();
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    struct build_slot slot = {.build_queue = NULL};
    struct error err = ERROR_INIT;

    assert_int_equal(pthread_create(&started.thread, NULL, run_queue, &fixture->service), 0);
    while (build_queue_take_slot(fixture->service.build_queue, &one, &slot, &err) < 0)
        assert_true(clock_monotonic_ms() < deadline_ms);
    build_slot_release(&slot);
    return started;
}

static void stop_queue(struct queue_thread *started)
{
    build_queue_stop(&started->fixture->service);
    assert_int_equal(pthread_join(started->thread, NULL), 0);
}

static void request_that_is_not_allowed_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct asked asked = {"POST", "/build", .key = HOUSE_KEY, .body = NULL, .type = TYPE};
    struct queue_thread queue = {.fixture = NULL};

    append_form(&body, NAME, "x");
    asked.body = body.text;
    assert_status(fixture, &asked, 503); /* the queue does not run yet */
    queue = start_queue(fixture);
    asked.body = "--xyz--";
    assert_status(fixture, &asked, 400);
    strbuf_reset(&body);
    append_form(&body, "localhost/inst/other/x:1", "x");
    asked.body = body.text;
    assert_refused(fixture, &asked, 400,
                   "image names must begin with localhost/inst/house/ (/registry_prefix)");
    strbuf_reset(&body);
    append_form(&body, NAME, "x");
    asked.body = body.text;
    fixture->settings.build_max_bytes = 20;
    assert_refused(fixture, &asked, 413, "context: is larger than 20 bytes");
    fixture->settings.build_max_bytes = 21;
    fixture->settings.build_max_unpacked_bytes = 0;
    assert_status(fixture, &asked, 413);
    fixture->backend.check_error = ERROR_UNAVAILABLE;
    assert_refused(fixture, &asked, 503, "as the test wants it");
    fixture->backend.check_error = ERROR_NONE;
    fixture->settings.free_bytes = 1;
    fixture->backend.space.free_bytes = 0;
    assert_status(fixture, &asked, 503);
    fixture->settings.may_build = 0;
    assert_refused(fixture, &asked, 501,
                   "image builds are disabled (DEFT_BUILDS); use an image that is on the host or "
                   "in a registry");
    stop_queue(&queue);
    assert_int_equal(test_sql_count("SELECT count(*) FROM image_builds"), 0);
}

static void body_may_be_as_large_as_base64_makes_the_context(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct asked asked = {"POST", "/build", .key = HOUSE_KEY, .body = NULL, .type = TYPE};
    struct queue_thread queue = start_queue(fixture);
    size_t most = 3000 / 3 * 4 + 3000 / 32 + 64UL * 1024;

    fixture->settings.build_max_bytes = 3000;
    while (body.len < most)
        strbuf_append_char(&body, 'x');
    asked.body = body.text;
    assert_status(fixture, &asked, 400);
    strbuf_append_char(&body, 'x');
    asked.body = body.text;
    assert_status(fixture, &asked, 413);
    stop_queue(&queue);
}

/* A row as if the text had been posted before. */
static void add_build(const char *status, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    test_sql("DELETE FROM image_builds");
    strbuf_append(&sql, "INSERT INTO image_builds (id, image, tags, context_hash, image_id, status)"
                        " VALUES ('abcdefghijklmnop', '" NAME "', '[\"" NAME "\"]', '");
    append_hash(&sql, text);
    strbuf_appendf(&sql, "', 'sha256:1', '%s')", status);
    test_sql(sql.text);
}

static void same_context_is_the_same_build(void **state)
{
    static const struct {
        const char *status;
        const char *text; /* of the build that there is; "x" is posted */
        const char *image_id;
        int reply;
        bool is_same;
    } cases[] = {
        {"QUEUED", "x", "sha256:1", 200, true},   {"BUILDING", "x", "sha256:1", 200, true},
        {"SUCCESS", "x", "sha256:1", 200, true},  {"SUCCESS", "x", "sha256:2", 200, false},
        {"SUCCESS", "y", "sha256:1", 200, false}, {"FAILURE", "x", "sha256:1", 200, false},
        {"QUEUED", "y", "sha256:1", 409, false},
    };
    struct service_fixture *fixture = *state;
    struct asked asked = {"POST", "/build", .key = HOUSE_KEY, .body = NULL, .type = TYPE};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
        struct queue_thread queue = start_queue(fixture);

        fixture->backend.image_id = cases[i].image_id;
        append_form(&body, NAME, "x");
        add_build(cases[i].status, cases[i].text);
        asked.body = body.text;
        assert_int_equal(api_ask(fixture, &asked, &reply), cases[i].reply);
        assert_int_equal(strstr(reply.text, "\"abcdefghijklmnop\"") != NULL, cases[i].is_same);
        stop_queue(&queue);
        build_queue_free(fixture->service.build_queue);
        fixture->service.build_queue = build_queue_new();
    }
}

static void status_is_told_to_who_posted_it(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct asked asked = {"GET", STATUS_OF "abcdefghijklmnop", .key = HOUSE_KEY};

    add_build("SUCCESS", "x");
    assert_replied(fixture, &asked, "",
                   "{\"status\":\"SUCCESS\",\"image\":\"" NAME "\",\"error\":null}");
    test_sql("UPDATE image_builds SET error = 'odd', status = 'FAILURE'");
    assert_replied(fixture, &asked, "error", "\"odd\"");
    assert_status(
        fixture,
        &(struct asked){"GET", STATUS_OF "abcdefghijklmnop", .key = TENANT_KEY, .is_outside = true},
        404);
    assert_status(fixture, &(struct asked){"GET", STATUS_OF "none", .key = HOUSE_KEY}, 404);
    test_sql(
        "UPDATE image_builds SET tenant_id = (SELECT id FROM runtime_keys WHERE name = 'one')");
    assert_status(
        fixture,
        &(struct asked){"GET", STATUS_OF "abcdefghijklmnop", .key = TENANT_KEY, .is_outside = true},
        200);
    assert_status(fixture, &asked, 404);
}

int build_api_tests(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(request_that_is_not_allowed_is_refused),
        API_TEST(body_may_be_as_large_as_base64_makes_the_context),
        API_TEST(same_context_is_the_same_build),
        API_TEST(status_is_told_to_who_posted_it),
    };

    return cmocka_run_group_tests_name("runtime/build_api", tests, NULL, NULL);
}
