#include "worker/worker_test.h"

#include "worker/webhooks/receivers.h"

#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "store/user/init_store.h"

#define ROOT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define UNSET {"", SECRET_INIT, "", "", "", "", "", "", ""}

/* --- settings --- */

static void set_all(struct receiver_settings *settings)
{
    for (size_t i = 0; i < RECEIVERS_MAX; i++)
        settings[i] = (struct receiver_settings)UNSET;
}

static void unset_receivers_are_none(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 7};
    struct receiver_settings settings[RECEIVERS_MAX];
    struct error err = ERROR_INIT;

    (void)state;
    set_all(settings);
    settings[1].num_retries = "not JSON";
    assert_int_equal(receivers_read(settings, &read, &err), 0);
    assert_int_equal(read.n, 0);
}

static void each_setting_reaches_its_member(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};
    struct receiver_settings settings[RECEIVERS_MAX];
    struct error err = ERROR_INIT;

    (void)state;
    set_all(settings);
    settings[2] = (struct receiver_settings){"http://a/x/", SECRET_INIT, "11", "0.5", "13",
                                             "1.5",         "17",        "19", "23"};
    secret_set(&settings[2].headers, "{\"X-A\": \"b\"}");
    assert_int_equal(receivers_read(settings, &read, &err), 0);
    secret_done(&settings[2].headers);
    assert_int_equal(read.n, 1);
    assert_string_equal(read.items[0].id, "2");
    assert_string_equal(read.items[0].base_url, "http://a/x");
    assert_int_equal(read.items[0].n_headers, 1);
    assert_string_equal(read.items[0].headers[0].name, "X-A");
    assert_string_equal(secret_reveal(&read.items[0].headers[0].value), "b");
    assert_int_equal(read.items[0].n_buffered, 11);
    assert_int_equal(read.items[0].flush_ms, 500);
    assert_int_equal(read.items[0].n_retries, 13);
    assert_int_equal(read.items[0].retry_ms, 1500);
    assert_int_equal(read.items[0].max_events, 17);
    assert_int_equal(read.items[0].max_batch_bytes, 19);
    assert_int_equal(read.items[0].max_queue_bytes, 23);
}

static void receivers_keep_the_number_of_their_settings(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};
    struct receiver_settings settings[RECEIVERS_MAX];
    struct error err = ERROR_INIT;

    (void)state;
    set_all(settings);
    settings[0].base_url = "http://a";
    settings[3].base_url = "http://b";
    assert_int_equal(receivers_read(settings, &read, &err), 0);
    assert_int_equal(read.n, 2);
    assert_string_equal(read.items[0].id, "0");
    assert_string_equal(read.items[0].base_url, "http://a");
    assert_int_equal(read.items[0].n_headers, 0);
    assert_int_equal(read.items[0].n_buffered, 5);
    assert_string_equal(read.items[1].id, "3");
    assert_string_equal(read.items[1].base_url, "http://b");
}

static void wrong_setting_is_named_without_its_value(void **state)
{
    static const struct {
        struct receiver_settings settings;
        const char *headers;
        const char *message;
    } cases[] = {
        {{"ftp://a", SECRET_INIT, "", "", "", "", "", "", ""},
         "",
         "OH_WEBHOOKS_1_…: base_url must be an http or https URL"},
        {{"http://a", SECRET_INIT, "ab", "", "", "", "", "", ""},
         "",
         "OH_WEBHOOKS_1_…: event_buffer_size is not JSON"},
        {{"http://a", SECRET_INIT, "0", "", "", "", "", "", ""},
         "",
         "OH_WEBHOOKS_1_…: event_buffer_size must be at least 1"},
        {{"http://a", SECRET_INIT, "", "", "", "", "", "", "x"},
         "",
         "OH_WEBHOOKS_1_…: max_queue_bytes is not JSON"},
        {UNSET, "{\"X-Key\": hush", "OH_WEBHOOKS_1_…: headers is not JSON"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct receivers read = {.n = 0};
        struct receiver_settings settings[RECEIVERS_MAX];
        struct error err = ERROR_INIT;

        set_all(settings);
        settings[0].base_url = "http://before";
        settings[1] = cases[i].settings;
        if (cases[i].headers[0] != '\0') {
            settings[1].base_url = "http://a";
            secret_set(&settings[1].headers, cases[i].headers);
        }
        assert_int_equal(receivers_read(settings, &read, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(read.n, 0);
        secret_done(&settings[1].headers);
    }
}

/* --- a deferred start --- */

static void open_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, ROOT);
    assert_int_equal(keyring_init(keyring, &root, &err), 0);
}

static int open_sealed(const char *context, const char *content, struct receivers *receivers,
                       struct secret *key, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    struct keyring keyring;

    open_keyring(&keyring);
    secret_set(&plain, content);
    keyring_seal(&keyring, context, &plain, &sealed);
    return receivers_open(&keyring, sealed.text, receivers, key, err);
}

static void deferred_start_brings_receivers_and_a_key(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(open_sealed(INIT_SEAL_CONTEXT,
                                 "{\"session_key\": \"k-1\", \"webhooks\": [{\"base_url\":"
                                 " \"http://a\"}, {\"base_url\": \"http://b\","
                                 " \"num_retries\": 9}]}",
                                 &read, &key, &err),
                     0);
    assert_int_equal(read.n, 2);
    assert_string_equal(read.items[0].id, "init-0");
    assert_string_equal(read.items[0].base_url, "http://a");
    assert_string_equal(read.items[1].id, "init-1");
    assert_int_equal(read.items[1].n_retries, 9);
    assert_string_equal(secret_reveal(&key), "k-1");
}

static void deferred_start_may_bring_nothing(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 7};
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(open_sealed(INIT_SEAL_CONTEXT, "{}", &read, &key, &err), 0);
    assert_int_equal(read.n, 0);
    assert_false(secret_is_set(&key));
}

static void receivers_beyond_the_limit_are_ignored(void **state)
{
    CLEANUP(receivers_done) struct receivers read = {.n = 0};
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    strbuf_append(&content, "{\"webhooks\": [");
    for (int i = 0; i < RECEIVERS_MAX; i++)
        strbuf_appendf(&content, "{\"base_url\": \"http://h%d\"},", i);
    strbuf_append(&content, "7]}");
    assert_int_equal(open_sealed(INIT_SEAL_CONTEXT, content.text, &read, &key, &err), 0);
    assert_int_equal(read.n, RECEIVERS_MAX);
    assert_string_equal(read.items[RECEIVERS_MAX - 1].id, "init-3");
    assert_string_equal(read.items[RECEIVERS_MAX - 1].base_url, "http://h3");
}

static void unreadable_deferred_start_changes_nothing(void **state)
{
    static const struct {
        const char *context;
        const char *content;
    } cases[] = {
        {"another context", "{\"session_key\": \"k-1\"}"},
        {INIT_SEAL_CONTEXT, "{"},
        {INIT_SEAL_CONTEXT, "{\"session_key\": \"k-1\", \"webhooks\": [{}]}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct receivers read = {.n = 0};
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(open_sealed(cases[i].context, cases[i].content, &read, &key, &err), -1);
        assert_non_null(strstr(err.message, "the settings of the deferred start"));
        assert_int_equal(read.n, 0);
        assert_false(secret_is_set(&key));
    }
}

int receivers_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_receivers_are_none),
        cmocka_unit_test(each_setting_reaches_its_member),
        cmocka_unit_test(receivers_keep_the_number_of_their_settings),
        cmocka_unit_test(wrong_setting_is_named_without_its_value),
        cmocka_unit_test(deferred_start_brings_receivers_and_a_key),
        cmocka_unit_test(deferred_start_may_bring_nothing),
        cmocka_unit_test(receivers_beyond_the_limit_are_ignored),
        cmocka_unit_test(unreadable_deferred_start_changes_nothing),
    };

    return cmocka_run_group_tests_name("receivers", tests, NULL, NULL);
}
