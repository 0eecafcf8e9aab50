#include "runtime/core/start_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "unit/runtime/runtime_test.h"

static const struct start_spec_limits limits = {.image = "default:1",
                                                .memory_bytes = 1LL << 30,
                                                .nano_cpus = 2000000000,
                                                .max_memory_bytes = 8LL << 30,
                                                .max_nano_cpus = 64000000000};

static int read_text(const char *text, struct start_spec *spec, struct error *err)
{
    json_auto_t *request = NULL;

    assert_int_equal(json_parse(text, strlen(text), &request, err), 0);
    return start_spec_read(request, &limits, spec, err);
}

static void little_is_needed(void **state)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("{\"session_id\": \"c-1\", \"other\": [1]}", &spec, &err), 0);
    assert_string_equal(spec.image, "default:1");
    assert_int_equal(spec.memory_bytes, 1LL << 30);
    assert_int_equal(spec.wait_ms, 0);
    assert_int_equal(json_object_size(spec.environment), 0);
}

static void factor_multiplies_and_bytes_count_as_they_are(void **state)
{
    CLEANUP(start_spec_done) struct start_spec factor = START_SPEC_INIT;
    CLEANUP(start_spec_done) struct start_spec bytes = START_SPEC_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("{\"session_id\": \"a\", \"resource_factor\": 2}", &factor, &err),
                     0);
    assert_int_equal(factor.memory_bytes, 2LL << 30);
    assert_int_equal(factor.nano_cpus, 4000000000);
    assert_int_equal(
        read_text("{\"session_id\": \"a\", \"memory_bytes\": 536870912}", &bytes, &err), 0);
    assert_int_equal(bytes.memory_bytes, 536870912);
}

static const char *const refused[] = {
    "[]",
    "{}",
    "{\"session_id\": \"\"}",
    "{\"session_id\": \"a b\"}",
    "{\"session_id\": 1}",
    "{\"session_id\": \"a\", \"image\": \"a?y\"}",
    "{\"session_id\": \"a\", \"image\": \"../containers/x\"}",
    "{\"session_id\": \"a\", \"image\": \"\"}",
    "{\"session_id\": \"a\", \"environment\": []}",
    "{\"session_id\": \"a\", \"environment\": {\"A\": 1}}",
    "{\"session_id\": \"a\", \"environment\": {\"A=B\": \"x\"}}",
    "{\"session_id\": \"a\", \"environment\": {\"1A\": \"x\"}}",
    "{\"session_id\": \"a\", \"environment\": {\"\": \"x\"}}",
    "{\"session_id\": \"a\", \"command\": 7}",
    "{\"session_id\": \"a\", \"command\": [7]}",
    "{\"session_id\": \"a\", \"resource_factor\": 0}",
    "{\"session_id\": \"a\", \"resource_factor\": 16}",
    "{\"session_id\": \"a\", \"resource_factor\": \"2\"}",
    "{\"session_id\": \"a\", \"memory_bytes\": 1}",
    "{\"session_id\": \"a\", \"memory_bytes\": 99999999999}",
    "{\"session_id\": \"a\", \"nano_cpus\": -1}",
    "{\"session_id\": \"a\", \"wait_ms\": 120001}",
    "{\"session_id\": \"a\", \"wait_ms\": 1.5}",
    "{\"session_id\": \"a\", \"owner_id\": \"me\"}",
};

static void what_cannot_be_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct start_spec spec = START_SPEC_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(refused[i], &spec, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

/* Each of the two has its limit, also where the other one is far from its own. */
static void factor_is_bounded_by_memory_and_by_processors(void **state)
{
    static const struct start_spec_limits few_processors = {.image = "default:1",
                                                            .memory_bytes = 1LL << 30,
                                                            .nano_cpus = 1000000000,
                                                            .max_memory_bytes = 64LL << 30,
                                                            .max_nano_cpus = 2000000000};
    static const struct start_spec_limits little_memory = {.image = "default:1",
                                                           .memory_bytes = 1LL << 30,
                                                           .nano_cpus = 1000000000,
                                                           .max_memory_bytes = 2LL << 30,
                                                           .max_nano_cpus = 64000000000};
    static const struct start_spec_limits *const all[] = {&few_processors, &little_memory};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        struct error err = ERROR_INIT;
        CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
        json_auto_t *fits =
            json_build(&err, "{s:s, s:I}", "session_id", "a", "resource_factor", (json_int_t)2);
        json_auto_t *exceeds =
            json_build(&err, "{s:s, s:I}", "session_id", "a", "resource_factor", (json_int_t)3);

        assert_int_equal(start_spec_read(exceeds, all[i], &spec, &err), -1);
        assert_int_equal(start_spec_read(fits, all[i], &spec, &err), 0);
        assert_int_equal(spec.nano_cpus, 2000000000);
    }
}

/* A request with one member whose text has that many letters. */
static void append_long(struct strbuf *text, const char *format, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf letters = STRBUF_INIT;

    while (letters.len < n)
        strbuf_append_char(&letters, 'x');
    strbuf_appendf(text, "{%s\"%s\"}", format, letters.text);
}

static void texts_have_a_longest(void **state)
{
    static const struct {
        const char *before;
        size_t most;
        const char *message;
    } cases[] = {
        {"\"session_id\": ", 200, "session_id: must have 1 to 200 characters"},
        {"\"session_id\": \"a\", \"image\": ", 255, "image: '"},
        {"\"session_id\": \"a\", \"environment\": {\"A\": ", 131072, "environment: A is too long"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t more = 0; more < 2; more++) {
            CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
            CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
            struct error err = ERROR_INIT;

            append_long(&text, cases[i].before, cases[i].most + more);
            if (i == 2)
                strbuf_append(&text, "}");
            assert_int_equal(read_text(text.text, &spec, &err), more == 0 ? 0 : -1);
            if (more > 0)
                assert_int_equal(strncmp(err.message, cases[i].message, strlen(cases[i].message)),
                                 0);
        }
    }
}

static void environment_has_a_most(void **state)
{
    (void)state;
    for (size_t n = 512; n < 514; n++) {
        CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_append(&text, "{\"session_id\": \"a\", \"environment\": {\"_a0\": \"\"");
        for (size_t i = 1; i < n; i++)
            strbuf_appendf(&text, ", \"A_%zu\": \"x\"", i);
        strbuf_append(&text, "}}");
        assert_int_equal(read_text(text.text, &spec, &err), n == 512 ? 0 : -1);
        if (n > 512)
            assert_string_equal(err.message, "environment: more than 512 members");
        else
            assert_int_equal(json_object_size(spec.environment), 512);
    }
}

/* Just within, and just outside of each range. */
static void numbers_have_ranges(void **state)
{
    static const struct {
        const char *name;
        int64_t min;
        int64_t max;
    } cases[] = {
        {"resource_factor", 1, 8},
        {"memory_bytes", SANDBOX_MEMORY_MIN_BYTES, 8LL << 30},
        {"nano_cpus", 10000000, 64000000000},
        {"wait_ms", 0, 120000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const int64_t values[] = {cases[i].min, cases[i].max, cases[i].min - 1, cases[i].max + 1};

        for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
            CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
            CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
            struct error err = ERROR_INIT;

            strbuf_appendf(&text, "{\"session_id\": \"a\", \"%s\": %lld}", cases[i].name,
                           (long long)values[k]);
            assert_int_equal(read_text(text.text, &spec, &err), k < 2 ? 0 : -1);
            if (k >= 2)
                assert_int_equal(strncmp(err.message, cases[i].name, strlen(cases[i].name)), 0);
        }
    }
}

static void all_members_are_read_and_kept_in_the_row(void **state)
{
    static const char request[] =
        "{\"session_id\": \"a\", \"image\": \"i:1\", \"working_dir\": \"/w\","
        " \"conversation_id\": \"c\", \"is_doubted\": true, \"keeps_image\": true,"
        " \"owner_id\": \"5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10\", \"wait_ms\": 7,"
        " \"command\": [\"x\", \"y\"], \"memory_bytes\": 536870912, \"nano_cpus\": 20000000}";
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(start_spec_done) struct start_spec back = START_SPEC_INIT;
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    json_auto_t *row = NULL;
    json_auto_t *expected = NULL;
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    secret_set(&root, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    assert_int_equal(keyring_init(&keyring, &root, &err), 0);
    assert_int_equal(read_text(request, &spec, &err), 0);
    assert_string_equal(spec.session_id, "a");
    assert_string_equal(spec.image, "i:1");
    assert_true(spec.is_doubted);
    assert_int_equal(spec.wait_ms, 7);
    assert_string_equal(spec.owner_id.text, "5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10");
    row = start_spec_to_row(&spec, &keyring, "abcdefghijklmnop", &err);
    expected = json_build(&err, "{s:s, s:s, s:[s,s], s:s, s:I, s:I, s:b, s:s}", "working_dir", "/w",
                          "conversation_id", "c", "command", "x", "y", "environment", "",
                          "memory_bytes", (json_int_t)536870912, "nano_cpus", (json_int_t)20000000,
                          "keeps_image", 1, "home", "");
    assert_non_null(expected);
    assert_true(json_equal(row, expected));
    assert_int_equal(start_spec_from_row(row, &keyring, "abcdefghijklmnop", &back, &err), 0);
    assert_string_equal(back.working_dir, "/w");
    assert_string_equal(back.conversation_id, "c");
    assert_true(json_equal(back.command, spec.command));
    assert_int_equal(back.memory_bytes, 536870912);
    assert_int_equal(back.nano_cpus, 20000000);
    assert_int_equal(json_object_size(back.environment), 0);
}

/* Nulls are as if the member were missing. */
static void nulls_are_defaults(void **state)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("{\"session_id\": \"a\", \"environment\": null, \"command\": null,"
                               " \"memory_bytes\": null, \"nano_cpus\": null, \"wait_ms\": null}",
                               &spec, &err),
                     0);
    assert_null(spec.command);
    assert_string_equal(spec.working_dir, "/workspace/project");
    assert_string_equal(spec.conversation_id, "");
    assert_int_equal(spec.memory_bytes, 1LL << 30);
    assert_int_equal(spec.nano_cpus, 2000000000);
    assert_false(spec.is_doubted);
    assert_false(spec.keeps_image);
    assert_false(uuid_is_set(&spec.owner_id));
}

static void environment_is_sealed_in_the_row(void **state)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(start_spec_done) struct start_spec back = START_SPEC_INIT;
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *row = NULL;
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    secret_set(&root, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    assert_int_equal(keyring_init(&keyring, &root, &err), 0);
    assert_int_equal(read_text("{\"session_id\": \"a\", \"environment\": {\"TOKEN\": \"hush\"},"
                               " \"command\": \"x y\"}",
                               &spec, &err),
                     0);
    memcpy(spec.home, "0123456789", sizeof("0123456789"));
    row = start_spec_to_row(&spec, &keyring, "abcdefghijklmnop", &err);
    assert_non_null(row);
    text = json_to_text(row);
    assert_null(strstr(text, "hush"));
    assert_null(strstr(text, "TOKEN"));
    assert_int_equal(start_spec_from_row(row, &keyring, "abcdefghijklmnop", &back, &err), 0);
    assert_string_equal(json_text_or(back.environment, "TOKEN", ""), "hush");
    assert_string_equal(back.home, "0123456789");
    assert_int_equal(back.memory_bytes, spec.memory_bytes);
}

int test_start_spec(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_is_needed),
        cmocka_unit_test(factor_multiplies_and_bytes_count_as_they_are),
        cmocka_unit_test(what_cannot_be_is_named),
        cmocka_unit_test(factor_is_bounded_by_memory_and_by_processors),
        cmocka_unit_test(texts_have_a_longest),
        cmocka_unit_test(environment_has_a_most),
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(all_members_are_read_and_kept_in_the_row),
        cmocka_unit_test(nulls_are_defaults),
        cmocka_unit_test(environment_is_sealed_in_the_row),
    };

    return cmocka_run_group_tests_name("runtime/start_spec", tests, NULL, NULL);
}
