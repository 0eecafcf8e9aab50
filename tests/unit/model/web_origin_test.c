#include "base/attr.h"
#include "model/web_origin.h"
#include "unit/model/model_test.h"

static void origins_are_scheme_host_and_port(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool is_same;
    } rows[] = {
        {"http://deft.test", "http://deft.test:80", true},
        {"https://deft.test", "https://deft.test:443", true},
        {"https://DEFT.test", "https://deft.TEST", true},
        {"http://[::1]:80", "http://[::1]", true},
        {"http://deft.test", "https://deft.test", false},
        {"http://deft.test:443", "https://deft.test", false},
        {"http://deft.test:8080", "http://deft.test", false},
        {"http://deft.test", "http://deft.test.evil", false},
        {"http://[::1]", "http://[::2]", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct web_origin a;
        struct web_origin b;

        assert_true(web_origin_read(rows[i].a, &a));
        assert_true(web_origin_read(rows[i].b, &b));
        if (web_origin_equal(&a, &b) != rows[i].is_same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

static void what_is_no_origin_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "deft.test",
        "http://",
        "http://:80",
        "ftp://deft.test",
        "HTTP://deft.test",
        "http://deft.test/",
        "http://deft.test?x",
        "http://deft.test:",
        "http://deft.test:0",
        "http://deft.test:65536",
        "http://deft.test:8o",
        "http://deft.test:000080",
        "http://user@deft.test",
        "http://deft.test http://evil.test",
        "http://deft.test, http://evil.test",
        "http://[::1",
        "http://[]",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct web_origin origin;

        if (web_origin_read(texts[i], &origin))
            fail_msg("%s is taken for an origin", texts[i]);
    }
}

/* TLS may end before us; who asks on this machine by a loopback name has none. */
static void requests_come_to_an_origin(void **state)
{
    static const struct {
        const char *app_url;
        bool is_tls;
        const char *host;
        const char *origin;
    } rows[] = {
        {"http://localhost:3000", false, "localhost:3000", "http://localhost:3000"},
        {"http://localhost:3000", false, "deft.test:3000", "http://deft.test:3000"},
        {"https://deft.test", false, "deft.test", "https://deft.test"},
        {"https://deft.test", false, "other.test", "https://other.test"},
        {"https://deft.test", false, "localhost:3000", "http://localhost:3000"},
        {"https://deft.test", true, "localhost:3000", "https://localhost:3000"},
        {"http://deft.test", true, "deft.test", "https://deft.test"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct web_origin came_to;
        struct web_origin origin;

        assert_true(web_origin_of_request(rows[i].app_url, rows[i].is_tls, rows[i].host, &came_to));
        assert_true(web_origin_read(rows[i].origin, &origin));
        if (!web_origin_equal(&came_to, &origin))
            fail_msg("%s at %s is not %s", rows[i].host, rows[i].app_url, rows[i].origin);
    }
}

int web_origin_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_are_scheme_host_and_port),
        cmocka_unit_test(what_is_no_origin_is_refused),
        cmocka_unit_test(requests_come_to_an_origin),
    };

    return cmocka_run_group_tests_name("web origin", tests, NULL, NULL);
}
