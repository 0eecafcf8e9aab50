/*
 * The calls of iptables, which a script plays: it writes down its arguments and input, and answers
 * as the test says.
 */
#include "runtime/egress/iptables.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_loader.h"
#include "runtime/egress/egress_state.h"
#include "runtime/egress/egress_table_rules.h"
#include "runtime/egress/firewall.h"
#include "runtime/egress/firewall_log.h"
#include "unit/runtime/runtime_test.h"

#define FILE_MAX_BYTES (1024UL * 1024)

static const char *const tools[] = {"iptables", "iptables-restore", "ip6tables",
                                    "ip6tables-restore"};

struct fixture {
    char folder[32];
    char *path; /* the variable as it was */
    struct error err;
};

static void write_file(const struct fixture *fixture, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    FILE *file = NULL;

    strbuf_appendf(&path, "%s/%s", fixture->folder, name);
    file = fopen(path.text, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path.text, 0755), 0);
}

/* Commands of a shell that answers: "$*" are the arguments after "-w 5". */
static void answer(const struct fixture *fixture, const char *commands)
{
    write_file(fixture, "answer", commands);
}

static int setup(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/deft-iptables-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    strbuf_appendf(&script,
                   "#!/bin/sh\n"
                   "dir=%s\n"
                   "echo \"${0##*/} $*\" >>$dir/asked\n"
                   "case $0 in *-restore) cat >>$dir/input ;; esac\n"
                   "shift 2\n"
                   ". $dir/answer\n",
                   fixture->folder);
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        write_file(fixture, tools[i], script.text);
    write_file(fixture, "asked", "");
    write_file(fixture, "input", "");
    answer(fixture, "");
    fixture->path = mem_dup_text(getenv("PATH"));
    strbuf_appendf(&path, "%s:%s", fixture->folder, fixture->path);
    assert_int_equal(setenv("PATH", path.text, 1), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    static const char *const others[] = {"asked", "input", "answer"};
    struct fixture *fixture = *state;

    assert_int_equal(setenv("PATH", fixture->path, 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(tools) + ARRAY_SIZE(others); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s", fixture->folder,
                       i < ARRAY_SIZE(tools) ? tools[i] : others[i - ARRAY_SIZE(tools)]);
        assert_int_equal(unlink(path.text), 0);
    }
    assert_int_equal(rmdir(fixture->folder), 0);
    mem_free(fixture->path);
    mem_free(fixture);
    return 0;
}

/* What was written since the last call. */
static void assert_file(const struct fixture *fixture, const char *name, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", fixture->folder, name);
    assert_int_equal(file_read(path.text, FILE_MAX_BYTES, &text, &err), 0);
    assert_string_equal(text.text, expected);
    write_file(fixture, name, "");
}

static const struct iptables_chain plain = {"nat", "PREROUTING", "DEFT-DNS-", NULL};
static const struct iptables_chain ordered = {"filter", "INPUT", "DEFT-ASK-", "DEFT-IN"};

#define LIST_PLAIN "iptables -w 5 -t nat -S PREROUTING\n"
#define LIST_ORDERED "iptables -w 5 -t filter -S INPUT\n"
#define MAKE_PLAIN                                                                                 \
    "iptables -w 5 -t nat -D PREROUTING -i dsb12ab+ -j DEFT-DNS-12ab\n"                            \
    "iptables -w 5 -t nat -I PREROUTING 1 -i dsb12ab+ -j DEFT-DNS-12ab\n"
#define MAKE_ORDERED                                                                               \
    "iptables -w 5 -t filter -D INPUT -i dsb12ab+ -j DEFT-ASK-12ab\n"                              \
    "iptables -w 5 -t filter -I INPUT 1 -i dsb12ab+ -j DEFT-ASK-12ab\n"

static void rules_are_loaded_from_input(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(iptables_load("*filter\nCOMMIT\n", &fixture->err), 0);
    assert_file(fixture, "asked", "iptables-restore -w 5 --noflush\n");
    assert_file(fixture, "input", "*filter\nCOMMIT\n");
    answer(fixture, "echo line 2 failed\nexit 1\n");
    assert_int_equal(iptables_load("*filter\n", &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_string_equal(fixture->err.message, "iptables-restore failed: line 2 failed\n");
}

static void jump_is_made_where_it_is_missing_or_too_late(void **state)
{
    static const struct {
        const struct iptables_chain *chain;
        const char *listed;
        const char *asked;
    } cases[] = {
        {&plain, "-P PREROUTING ACCEPT", LIST_PLAIN MAKE_PLAIN},
        {&plain, "-A PREROUTING -i dsb12ab+ -j DEFT-DNS-12ab", LIST_PLAIN},
        {&plain, "-A PREROUTING -i dsb12ac+ -j DEFT-DNS-12ac", LIST_PLAIN MAKE_PLAIN},
        {&plain, "-A PREROUTING -i dsb12ab+ -j DEFT-DNS-12abc", LIST_PLAIN MAKE_PLAIN},
        {&ordered, "-A INPUT -i dsb12ab+ -j DEFT-ASK-12ab", LIST_ORDERED},
        {&ordered, "-A INPUT -i dsb12ab+ -j DEFT-ASK-12ab\n-A INPUT -i dsb+ -j DEFT-IN",
         LIST_ORDERED},
        {&ordered, "-A INPUT -i dsb+ -j DEFT-IN\n-A INPUT -i dsb12ab+ -j DEFT-ASK-12ab",
         LIST_ORDERED MAKE_ORDERED},
        {&ordered, "-A INPUT -i dsb+ -j DEFT-IN", LIST_ORDERED MAKE_ORDERED},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;

        strbuf_appendf(&commands, "case \"$3\" in -S) echo '%s' ;; -D) exit 1 ;; esac\n",
                       cases[i].listed);
        answer(fixture, commands.text);
        assert_int_equal(iptables_jump(cases[i].chain, "12ab", &fixture->err), 0);
        assert_file(fixture, "asked", cases[i].asked);
    }
}

static void jump_that_cannot_be_made_is_an_error(void **state)
{
    struct fixture *fixture = *state;

    answer(fixture, "echo no such chain\nexit 2\n");
    assert_int_equal(iptables_jump(&plain, "12ab", &fixture->err), -1);
    assert_string_equal(fixture->err.message, "iptables failed: no such chain\n");
    assert_file(fixture, "asked", LIST_PLAIN);
    answer(fixture, "case \"$3\" in -I) echo full; exit 1 ;; esac\n");
    assert_int_equal(iptables_jump(&plain, "12ab", &fixture->err), -1);
    assert_string_equal(fixture->err.message, "iptables failed: full\n");
    assert_file(fixture, "asked", LIST_PLAIN MAKE_PLAIN);
}

#define CUT(table, from, chain)                                                                    \
    "iptables -w 5 -t " table " -D " from " -i dsb12ab+ -j " chain "\n" REMOVE(table, chain)
#define REMOVE(table, chain)                                                                       \
    "iptables -w 5 -t " table " -F " chain "\niptables -w 5 -t " table " -X " chain "\n"

static void jump_and_chain_are_removed_even_if_one_is_missing(void **state)
{
    struct fixture *fixture = *state;

    answer(fixture, "exit 1\n");
    iptables_cut(&plain, "12ab");
    assert_file(fixture, "asked", CUT("nat", "PREROUTING", "DEFT-DNS-12ab"));
}

static void chains_of_an_instance_are_swept(void **state)
{
    struct fixture *fixture = *state;

    answer(fixture, "[ \"$3\" != -S ] || printf '%s\\n' '-P INPUT ACCEPT' '-N DEFT-P0-12ab'"
                    " '-N DEFT-P1-12ac' '-N OTHER-12ab' '-A DEFT-P0-12ab -j REJECT'"
                    " '-N DEFT-P12-12ab'\n");
    iptables_sweep("filter", "DEFT-P", "12ab");
    assert_file(fixture, "asked",
                "iptables -w 5 -t filter -S\n" REMOVE("filter", "DEFT-P0-12ab")
                    REMOVE("filter", "DEFT-P12-12ab"));
    answer(fixture, "[ \"$3\" != -S ] || printf '%s' '-N DEFT-P3-12ab'\n");
    iptables_sweep("filter", "DEFT-P", "12ab");
    assert_file(fixture, "asked", "iptables -w 5 -t filter -S\n" REMOVE("filter", "DEFT-P3-12ab"));
    answer(fixture, "exit 1\n");
    iptables_sweep("nat", "DEFT-P", "12ab");
    assert_file(fixture, "asked", "iptables -w 5 -t nat -S\n");
}

/* --- the rules of all instances --- */

static bool has_ipv6(void)
{
    return access("/proc/net/if_inet6", F_OK) == 0;
}

static const char input6[] = "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n"
                             "-A DEFT-IN -j DROP\n-A DEFT-OUT -j DROP\nCOMMIT\n";

static void common_rules_are_loaded_and_led_to(void **state)
{
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    struct fixture *fixture = *state;

    assert_int_equal(firewall_apply(&fixture->err), 0);
    strbuf_append(&asked, "iptables-restore -w 5 --noflush\n"
                          "iptables -w 5 -n -L DOCKER-USER\n"
                          "iptables -w 5 -C FORWARD -j DOCKER-USER\n"
                          "iptables -w 5 -C INPUT -i dsb+ -j DEFT-IN\n"
                          "iptables -w 5 -C DOCKER-USER -i dsb+ -j DEFT-OUT\n");
    firewall_append_rules(&input);
    if (has_ipv6()) {
        strbuf_append(&asked, "ip6tables-restore -w 5 --noflush\n"
                              "ip6tables -w 5 -C INPUT -i dsb+ -j DEFT-IN\n"
                              "ip6tables -w 5 -C FORWARD -i dsb+ -j DEFT-OUT\n");
        strbuf_append(&input, input6);
    }
    assert_file(fixture, "asked", asked.text);
    assert_file(fixture, "input", input.text);
}

static void missing_chains_and_jumps_are_made(void **state)
{
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    struct fixture *fixture = *state;

    answer(fixture, "case \"$*\" in -C*|-n*) exit 1 ;;\n"
                    "'-S INPUT') echo '-A INPUT -i dsb0f+ -j DEFT-IN-0f' ;; esac\n");
    assert_int_equal(firewall_apply(&fixture->err), 0);
    strbuf_append(&asked, "iptables-restore -w 5 --noflush\n"
                          "iptables -w 5 -n -L DOCKER-USER\n"
                          "iptables -w 5 -N DOCKER-USER\n"
                          "iptables -w 5 -C FORWARD -j DOCKER-USER\n"
                          "iptables -w 5 -I FORWARD 1 -j DOCKER-USER\n"
                          "iptables -w 5 -C INPUT -i dsb+ -j DEFT-IN\n"
                          "iptables -w 5 -S INPUT\n"
                          "iptables -w 5 -I INPUT 2 -i dsb+ -j DEFT-IN\n"
                          "iptables -w 5 -C DOCKER-USER -i dsb+ -j DEFT-OUT\n"
                          "iptables -w 5 -S DOCKER-USER\n"
                          "iptables -w 5 -I DOCKER-USER 1 -i dsb+ -j DEFT-OUT\n");
    if (has_ipv6())
        strbuf_append(&asked, "ip6tables-restore -w 5 --noflush\n"
                              "ip6tables -w 5 -C INPUT -i dsb+ -j DEFT-IN\n"
                              "ip6tables -w 5 -S INPUT\n"
                              "ip6tables -w 5 -I INPUT 2 -i dsb+ -j DEFT-IN\n"
                              "ip6tables -w 5 -C FORWARD -i dsb+ -j DEFT-OUT\n"
                              "ip6tables -w 5 -S FORWARD\n"
                              "ip6tables -w 5 -I FORWARD 1 -i dsb+ -j DEFT-OUT\n");
    assert_file(fixture, "asked", asked.text);
}

/* Each failure ends it: no sandbox starts without the rules. */
static void failure_of_each_call_is_an_error(void **state)
{
    static const char *const calls[] = {"iptables-restore --noflush",
                                        "iptables -N DOCKER-USER",
                                        "iptables -I FORWARD 1 -j DOCKER-USER",
                                        "iptables -S INPUT",
                                        "iptables -I INPUT 1 -i dsb+ -j DEFT-IN",
                                        "iptables -S DOCKER-USER",
                                        "iptables -I DOCKER-USER 1 -i dsb+ -j DEFT-OUT",
                                        "ip6tables-restore --noflush",
                                        "ip6tables -S INPUT",
                                        "ip6tables -I INPUT 1 -i dsb+ -j DEFT-IN",
                                        "ip6tables -S FORWARD",
                                        "ip6tables -I FORWARD 1 -i dsb+ -j DEFT-OUT"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(calls) && (i < 7 || has_ipv6()); i++) {
        CLEANUP(strbuf_done) struct strbuf commands = STRBUF_INIT;

        strbuf_appendf(&commands,
                       "case \"${0##*/} $*\" in '%s') echo no; exit 1 ;; *' -C '*|*' -n '*) exit 1"
                       " ;; esac\n",
                       calls[i]);
        answer(fixture, commands.text);
        assert_int_equal(firewall_apply(&fixture->err), -1);
        assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
        assert_true(text_starts_with(fixture->err.message, "network rules: ip"));
        assert_true(text_ends_with(fixture->err.message, " failed: no\n"));
    }
}

/* --- an instance's --- */

static void logging_rules_are_loaded_led_to_and_removed(void **state)
{
    static const struct firewall_log log = {.tag = "12ab", .group = 4711};
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    struct fixture *fixture = *state;

    /* The common jump comes first; one that only begins so does not matter. */
    answer(fixture,
           "case \"$*\" in *'-S INPUT') printf '%s\\n' '-A INPUT -i dsb+ -j DEFT-IN-0f'"
           " '-A INPUT -i dsb12ab+ -j DEFT-IN-12ab' '-A INPUT -i dsb+ -j DEFT-IN' ;; esac\n");
    assert_int_equal(firewall_log_apply(&log, &fixture->err), 0);
    firewall_log_append_text(&input, &log);
    assert_file(fixture, "input", input.text);
    assert_file(fixture, "asked",
                "iptables-restore -w 5 --noflush\n"
                "iptables -w 5 -t filter -S INPUT\n"
                "iptables -w 5 -t filter -S DOCKER-USER\n"
                "iptables -w 5 -t filter -D DOCKER-USER -i dsb12ab+ -j DEFT-OUT-12ab\n"
                "iptables -w 5 -t filter -I DOCKER-USER 1 -i dsb12ab+ -j DEFT-OUT-12ab\n");
    answer(fixture, "case \"$*\" in *'-S DOCKER-USER') exit 1 ;; esac\n");
    assert_int_equal(firewall_log_apply(&log, &fixture->err), -1);
    answer(fixture, "exit 1\n");
    write_file(fixture, "asked", "");
    assert_int_equal(firewall_log_apply(&log, &fixture->err), -1);
    assert_file(fixture, "asked", "iptables-restore -w 5 --noflush\n");
    firewall_log_remove("12ab");
    assert_file(fixture, "asked",
                CUT("filter", "INPUT", "DEFT-IN-12ab")
                    CUT("filter", "DOCKER-USER", "DEFT-OUT-12ab"));
}

/* Puts the tag of instance "one" in the place of 12ab. */
static void retag(struct strbuf *text)
{
    char tag[BRIDGE_TAG_BYTES] = "";

    bridge_tag("one", tag);
    assert_int_equal(strlen(tag), 4);
    for (char *at = strstr(text->text, "12ab"); at != NULL; at = strstr(at, "12ab"))
        memcpy(at, tag, 4);
}

static void rules_of_an_instance_are_removed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    struct fixture *fixture = *state;

    strbuf_append(
        &asked, CUT("filter", "DOCKER-USER", "DEFT-GO-12ab") CUT("filter", "INPUT", "DEFT-ASK-12ab")
                    CUT("nat", "PREROUTING",
                        "DEFT-DNS-12ab") "iptables -w 5 -t filter -S\niptables -w 5 -t nat "
                                         "-S\n" CUT("filter", "INPUT", "DEFT-IN-12ab")
                                             CUT("filter", "DOCKER-USER", "DEFT-OUT-12ab"));
    retag(&asked);
    egress_remove_rules("one");
    assert_file(fixture, "asked", asked.text);
}

static void *run_loader(void *context)
{
    egress_loader_run(context);
    return NULL;
}

static void rules_of_policies_are_loaded_on_request(void **state)
{
    static const struct runtime_settings without = {.docker = {.instance = "one"}};
    struct runtime_settings settings = {.backend = "docker",
                                        .has_network_rules = 1,
                                        .resolver_port = 4052,
                                        .egress = "none",
                                        .egress_allow = "",
                                        .docker = {.instance = "one"},
                                        .process = {.network = "none"}};
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    struct fixture *fixture = *state;
    struct service service = {.settings = NULL};
    pthread_t thread = 0;

    assert_int_equal(egress_new(&settings, &service.egress, &fixture->err), 0);
    service.denials = egress_denials_new(&without);
    assert_int_equal(pthread_create(&thread, NULL, run_loader, &service), 0);
    assert_int_equal(egress_load(service.egress, &fixture->err), 0);
    strbuf_append(
        &asked,
        "iptables-restore -w 5 --noflush\n"
        "iptables -w 5 -t filter -S DOCKER-USER\n"
        "iptables -w 5 -t filter -D DOCKER-USER -i dsb12ab+ -j DEFT-GO-12ab\n"
        "iptables -w 5 -t filter -I DOCKER-USER 1 -i dsb12ab+ -j DEFT-GO-12ab\n" LIST_ORDERED
            MAKE_ORDERED LIST_PLAIN MAKE_PLAIN);
    retag(&asked);
    assert_file(fixture, "asked", asked.text);
    answer(fixture, "echo no\nexit 1\n");
    assert_int_equal(egress_load(service.egress, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_string_equal(fixture->err.message, "egress rules: iptables-restore failed: no\n");
    answer(fixture, "[ \"$3\" != -S ] || exit 1\n");
    assert_int_equal(egress_load(service.egress, &fixture->err), -1);
    assert_true(text_starts_with(fixture->err.message, "egress rules: iptables failed"));
    answer(fixture, "");
    write_file(fixture, "input", "");
    assert_int_equal(egress_load(service.egress, &fixture->err), 0);
    {
        CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
        struct egress_rules rules = {
            .tag = service.egress->tag, .resolver_port = 4052, .dns_port = 4053, .group = -1};

        egress_table_append_rules(&service.egress->table, &rules, &input);
        assert_file(fixture, "input", input.text);
    }
    egress_stop(service.egress);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(egress_load(service.egress, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_string_equal(fixture->err.message, "the service is stopping");
    egress_denials_free(service.denials);
    egress_free(service.egress);
}

static void nothing_is_loaded_without_rules(void **state)
{
    static const struct runtime_settings settings = {.backend = "docker",
                                                     .egress = "internet",
                                                     .egress_allow = "",
                                                     .docker = {.instance = "one"},
                                                     .process = {.network = "none"}};
    struct fixture *fixture = *state;
    struct service service = {.settings = NULL};
    pthread_t thread = 0;

    assert_int_equal(egress_new(&settings, &service.egress, &fixture->err), 0);
    service.denials = egress_denials_new(&settings);
    egress_denials_load_rules(service.denials);
    assert_int_equal(egress_denials_group(service.denials), -1);
    assert_int_equal(pthread_create(&thread, NULL, run_loader, &service), 0);
    assert_int_equal(egress_load(service.egress, &fixture->err), 0);
    assert_file(fixture, "asked", "");
    egress_stop(service.egress);
    assert_int_equal(pthread_join(thread, NULL), 0);
    egress_denials_free(service.denials);
    egress_free(service.egress);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int test_iptables(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rules_are_loaded_from_input),
        TEST(jump_is_made_where_it_is_missing_or_too_late),
        TEST(jump_that_cannot_be_made_is_an_error),
        TEST(jump_and_chain_are_removed_even_if_one_is_missing),
        TEST(chains_of_an_instance_are_swept),
        TEST(common_rules_are_loaded_and_led_to),
        TEST(missing_chains_and_jumps_are_made),
        TEST(failure_of_each_call_is_an_error),
        TEST(logging_rules_are_loaded_led_to_and_removed),
        TEST(rules_of_an_instance_are_removed),
        TEST(rules_of_policies_are_loaded_on_request),
        TEST(nothing_is_loaded_without_rules),
    };

    return cmocka_run_group_tests_name("runtime/iptables", tests, NULL, NULL);
}
