#include "model/conversation/webhook.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "unit/model/model_test.h"

static int read_text(const char *text, struct webhook *webhook_out, struct error *err)
{
    json_auto_t *spec = NULL;

    if (json_parse(text, strlen(text), &spec, err) < 0)
        return -1;
    return webhook_read(spec, "0", webhook_out, err);
}

static void address_alone_gets_the_contracts_defaults(void **state)
{
    CLEANUP(webhook_done) struct webhook webhook = WEBHOOK_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("{\"base_url\": \"https://x.test/hook//\"}", &webhook, &err), 0);
    assert_string_equal(webhook.base_url, "https://x.test/hook");
    assert_int_equal(webhook.n_buffered, 5);
    assert_int_equal(webhook.flush_ms, 30000);
    assert_int_equal(webhook.n_retries, 3);
    assert_int_equal(webhook.retry_ms, 5000);
    assert_int_equal(webhook.max_events, 1000);
    assert_int_equal(webhook.max_batch_bytes, 5242880);
    assert_int_equal(webhook.max_queue_bytes, 52428800);
    assert_int_equal(webhook.n_headers, 0);
}

static void members_are_read_and_paths_put_behind_the_address(void **state)
{
    static const char text[] =
        "{\"base_url\": \"http://x.test:8080\", \"headers\": {\"X-Key\": \"secret\"},"
        " \"flush_delay\": 0.25, \"event_buffer_size\": 1, \"future\": true}";
    CLEANUP(webhook_done) struct webhook webhook = WEBHOOK_INIT;
    CLEANUP(strbuf_done) struct strbuf urls = STRBUF_INIT;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text(text, &webhook, &err), 0);
    assert_int_equal(webhook.flush_ms, 250);
    assert_int_equal(webhook.n_buffered, 1);
    assert_string_equal(webhook.headers[0].name, "X-Key");
    assert_string_equal(secret_reveal(&webhook.headers[0].value), "secret");
    assert_true(uuid_parse("01234567-89ab-cdef-0123-456789abcdef", &id));
    webhook_append_info_url(&webhook, &urls);
    strbuf_append_char(&urls, ' ');
    webhook_append_events_url(&webhook, &id, &urls);
    assert_string_equal(urls.text, "http://x.test:8080/conversations"
                                   " http://x.test:8080/events/0123456789abcdef0123456789abcdef");
}

static void wrong_specifications_are_refused_by_the_members_name(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"[]", "object"},
        {"{}", "base_url"},
        {"{\"base_url\": 5}", "base_url"},
        {"{\"base_url\": \"file:///etc/passwd\"}", "base_url"},
        {"{\"base_url\": \"http://x.test/?a=b\"}", "base_url"},
        {"{\"base_url\": \"http://x.test/ y\"}", "base_url"},
        {"{\"base_url\": \"http://x\", \"headers\": []}", "headers"},
        {"{\"base_url\": \"http://x\", \"headers\": {\"a\": 1}}", "headers"},
        {"{\"base_url\": \"http://x\", \"headers\": {\"a b\": \"c\"}}", "headers"},
        {"{\"base_url\": \"http://x\", \"headers\": {\"a\": \"b\\r\\nc: d\"}}", "headers"},
        {"{\"base_url\": \"http://x\", \"num_retries\": \"3\"}", "num_retries"},
        {"{\"base_url\": \"http://x\", \"num_retries\": -1}", "num_retries"},
        {"{\"base_url\": \"http://x\", \"flush_delay\": 0}", "flush_delay"},
        {"{\"base_url\": \"http://x\", \"max_queue_size\": 1e300}", "max_queue_size"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(webhook_done) struct webhook webhook = WEBHOOK_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(cases[i].text, &webhook, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_null(strstr(err.message, "passwd"));
    }
}

static void distance_grows_behind_the_retries_up_to_a_bound(void **state)
{
    const struct webhook webhook = {.n_retries = 2, .retry_ms = 100, .flush_ms = 2000};
    const struct webhook hasty = {.n_retries = 0, .retry_ms = 0, .flush_ms = 1};

    (void)state;
    assert_int_equal(webhook_retry_ms(&webhook, 1), 100);
    assert_int_equal(webhook_retry_ms(&webhook, 2), 100);
    assert_int_equal(webhook_retry_ms(&webhook, 3), 2000);
    assert_int_equal(webhook_retry_ms(&webhook, 4), 4000);
    assert_int_equal(webhook_retry_ms(&webhook, 1000000), 300000);
    assert_int_equal(webhook_retry_ms(&hasty, 1), 1000);
}

int webhook_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_alone_gets_the_contracts_defaults),
        cmocka_unit_test(members_are_read_and_paths_put_behind_the_address),
        cmocka_unit_test(wrong_specifications_are_refused_by_the_members_name),
        cmocka_unit_test(distance_grows_behind_the_retries_up_to_a_bound),
    };

    return cmocka_run_group_tests_name("webhook", tests, NULL, NULL);
}
