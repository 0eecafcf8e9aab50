#include "runtime/egress/dnsmasq_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "unit/runtime/runtime_test.h"

static const struct dnsmasq_settings usual = {
    .instance = "one", .port = 1053, .upstreams = "", .private_names = "", .log_level = "info"};

static bool has(const struct dnsmasq_command *command, const char *text)
{
    for (size_t i = 0; i < command->n; i++) {
        if (text_equal(command->items[i], text))
            return true;
    }
    return false;
}

static struct dnsmasq_command made(const struct dnsmasq_settings *settings)
{
    struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(dnsmasq_command_make(settings, &command, &err), 0);
    assert_null(command.items[command.n]);
    return command;
}

static void it_listens_at_bridges_of_its_instance_alone(void **state)
{
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = made(&usual);
    char expected[] = "--interface=dsb0000*";
    char tag[BRIDGE_TAG_BYTES] = "";
    size_t n = 0;

    (void)state;
    bridge_tag("one", tag);
    memcpy(strchr(expected, '0'), tag, sizeof(tag) - 1);
    for (size_t i = 0; i < command.n; i++)
        n += text_starts_with(command.items[i], "--interface=");
    assert_int_equal(n, 1);
    assert_true(has(&command, expected));
    assert_true(has(&command, "--except-interface=lo"));
    assert_true(has(&command, "--bind-dynamic"));
    assert_true(has(&command, "--port=1053"));
}

static void nothing_private_is_answered(void **state)
{
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = made(&usual);
    static const char *const filters[] = {"--stop-dns-rebind",
                                          "--bogus-priv",
                                          "--no-hosts",
                                          "--no-ident",
                                          "--conf-file=/dev/null",
                                          "--local=/internal/",
                                          "--bogus-nxdomain=100.64.0.0/10",
                                          "--bogus-nxdomain=169.254.0.0/16",
                                          "--bogus-nxdomain=127.0.0.0/8",
                                          "--bogus-nxdomain=64:ff9b::/96",
                                          "--bogus-nxdomain=fd00:ec2::/32"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        assert_true(has(&command, filters[i]));
    assert_false(has(&command, "--no-resolv"));
}

static void upstreams_of_the_setting_are_asked_instead_of_the_hosts(void **state)
{
    struct dnsmasq_settings settings = usual;
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

    (void)state;
    settings.upstreams = " 9.9.9.9, 2620:fe::fe#5353 ";
    command = made(&settings);
    assert_true(has(&command, "--no-resolv"));
    assert_true(has(&command, "--server=9.9.9.9#53"));
    assert_true(has(&command, "--server=2620:fe::fe#5353"));
}

static void names_may_be_excepted_from_the_filter(void **state)
{
    struct dnsmasq_settings settings = usual;
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

    (void)state;
    settings.private_names = "Corp.Example. lan";
    command = made(&settings);
    assert_true(has(&command, "--rebind-domain-ok=/corp.example/"));
    assert_true(has(&command, "--server=/lan/#"));
    assert_false(has(&command, "--local=/lan/"));
    assert_true(has(&command, "--local=/internal/"));
}

static void a_wrong_setting_is_named(void **state)
{
    static const struct {
        struct dnsmasq_settings settings;
        const char *words;
    } cases[] = {
        {{"one", 80, "", "", "info"}, "DEFT_RESOLVER_PORT: must be a port from 1024"},
        {{"one", 65535, "", "", "info"}, "DEFT_RESOLVER_PORT"},
        {{"one", 1053, "9.9.9", "", "info"},
         "DEFT_RESOLVER_UPSTREAMS: 9.9.9: it is not an IP address"},
        {{"one", 1053, "9.9.9.9#0", "", "info"}, "DEFT_RESOLVER_UPSTREAMS: 9.9.9.9#0"},
        {{"one", 1053, "9.9.9.9@dsb0", "", "info"}, "it is not an IP address"},
        {{"one", 1053, "", "a..b", "info"}, "DEFT_RESOLVER_PRIVATE_NAMES: a..b: it is not a host"},
        {{"one", 1053, "", "a/b", "info"}, "it is not a host name"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(dnsmasq_command_make(&cases[i].settings, &command, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, cases[i].words));
        assert_null(command.items);
    }
}

int test_dnsmasq_command(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_listens_at_bridges_of_its_instance_alone),
        cmocka_unit_test(nothing_private_is_answered),
        cmocka_unit_test(upstreams_of_the_setting_are_asked_instead_of_the_hosts),
        cmocka_unit_test(names_may_be_excepted_from_the_filter),
        cmocka_unit_test(a_wrong_setting_is_named),
    };

    return cmocka_run_group_tests_name("runtime/dnsmasq_command", tests, NULL, NULL);
}
