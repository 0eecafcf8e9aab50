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
#include "base/strbuf.h"
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
        {{"one", 1023, "", "", "info"}, "DEFT_RESOLVER_PORT"},
        {{"one", 65535, "", "", "info"}, "DEFT_RESOLVER_PORT"},
        {{"one", 1053, "9.9.9.9#65536", "", "info"}, "DEFT_RESOLVER_UPSTREAMS: 9.9.9.9#65536"},
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

static void command_is_this(void **state)
{
    static const char begin[] = RESOLVER_PROGRAM
        " --keep-in-foreground --conf-file=/dev/null --pid-file= --log-facility=-"
        " --no-hosts --no-ident --cache-size=1000 --dns-forward-max=2000"
        " --fast-dns-retry=1000,6000 --edns-packet-max=1232 --port=1053 --bind-dynamic ";
    static const char filters[] =
        " --except-interface=lo --stop-dns-rebind --bogus-priv --domain-needed --filterwin2k"
        " --bogus-nxdomain=100.64.0.0/10 --bogus-nxdomain=::/96 --bogus-nxdomain=::ffff:0:0/96"
        " --bogus-nxdomain=64:ff9b::/96 --bogus-nxdomain=64:ff9b:1::/48"
        " --bogus-nxdomain=2002::/16 --bogus-nxdomain=fc00::/8 --bogus-nxdomain=fd00:ec2::/32"
        " --bogus-nxdomain=fe80::/9 --bogus-nxdomain=ff00::/8"
        " --bogus-nxdomain=0.0.0.0/8 --bogus-nxdomain=127.0.0.0/8"
        " --bogus-nxdomain=169.254.0.0/16 --bogus-nxdomain=192.0.0.0/24"
        " --bogus-nxdomain=192.0.2.0/24 --bogus-nxdomain=192.88.99.0/24"
        " --bogus-nxdomain=198.18.0.0/15 --bogus-nxdomain=198.51.100.0/24"
        " --bogus-nxdomain=203.0.113.0/24 --bogus-nxdomain=224.0.0.0/4"
        " --bogus-nxdomain=240.0.0.0/4"
        " --local=/internal/ --local=/local/ --local=/localhost/ --local=/home.arpa/"
        " --local=/home/ --local=/intranet/ --local=/lan/ --local=/corp/ --local=/private/";
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = made(&usual);
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < command.n; i++)
        strbuf_appendf(&words, "%s%s", i > 0 ? " " : "", command.items[i]);
    assert_true(text_starts_with(words.text, begin));
    assert_true(text_ends_with(words.text, filters));
}

/* As many as are allowed, and one more. */
static void settings_have_at_most_64_words(void **state)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    struct dnsmasq_settings settings = usual;
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < 64; i++)
        strbuf_append(&list, "9.9.9.9\t");
    settings.upstreams = list.text;
    {
        CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = made(&settings);
    }
    strbuf_append(&list, "8.8.8.8");
    settings.upstreams = list.text;
    {
        struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

        assert_int_equal(dnsmasq_command_make(&settings, &command, &err), -1);
    }
    assert_string_equal(err.message, "DEFT_RESOLVER_UPSTREAMS: there may be at most 64");
}

static void ports_have_their_bounds(void **state)
{
    static const int64_t ports[] = {1024, 65534};
    struct dnsmasq_settings settings = usual;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

        settings.port = ports[i];
        command = made(&settings);
    }
    settings.port = 1053;
    settings.upstreams = "9.9.9.9#65535";
    {
        CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = made(&settings);

        assert_true(has(&command, "--server=9.9.9.9#65535"));
    }
}

int test_dnsmasq_command(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_listens_at_bridges_of_its_instance_alone),
        cmocka_unit_test(command_is_this),
        cmocka_unit_test(settings_have_at_most_64_words),
        cmocka_unit_test(ports_have_their_bounds),
        cmocka_unit_test(nothing_private_is_answered),
        cmocka_unit_test(upstreams_of_the_setting_are_asked_instead_of_the_hosts),
        cmocka_unit_test(names_may_be_excepted_from_the_filter),
        cmocka_unit_test(a_wrong_setting_is_named),
    };

    return cmocka_run_group_tests_name("runtime/dnsmasq_command", tests, NULL, NULL);
}
