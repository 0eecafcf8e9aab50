/*
 * Parsers of deft-worker beyond the libraries: the secrets that a command names, and events to be
 * masked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "unit/linear/linear.h"
#include "worker/agent/core/secret_list.h"

/* Many secrets, and a command that names none, or the last alone. */
static void run_env(const char *text, size_t len)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    json_auto_t *secrets = NULL;
    json_auto_t *env = NULL;
    struct error err = ERROR_INIT;

    strbuf_append(&spec, "{\"LAST\":\"swordfish\"");
    for (size_t i = 0; i < len / 10; i++)
        strbuf_appendf(&spec, ",\"A%zu\":\"a value %zu\"", i, i);
    strbuf_append_char(&spec, '}');
    assert_int_equal(json_parse(spec.text, spec.len, &secrets, &err), 0);
    secret_list_read(&list, secrets);
    env = secret_list_env(&list, text);
    assert_true(env == NULL || json_object_size(env) <= list.n);
}

static const char *const commands[] = {"|echo a; |",  "|A|",     "|aaaa|LAST",
                                       "|A1 A2 A3 |", "|LAS |T", NULL};

static void run_mask(const char *text, size_t len)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct event_list events = EVENT_LIST_INIT;
    json_auto_t *secrets = json_object();

    json_put_text(secrets, "A", "swordfish");
    secret_list_read(&list, secrets);
    secret_list_mask_text(&list, text, &out);
    assert_true(out.len <= 2 * len + 1);
    (void)event_add_agent_message(&events, text, text, "a");
    secret_list_mask_events(&list, &events);
    event_list_done(&events);
}

static const char *const masked[] = {"|swordfish|", "|swordfis|", "|a|", NULL};

static void time_is_linear_in_what_a_worker_reads(void **state)
{
    static const struct linear_function functions[] = {
        /* Each secret has some hundred nodes in the masker. */
        {"secret_list_env", run_env, commands, LINEAR_FEW_BYTES, 2000},
        {"secret_list_mask_events", run_mask, masked, LINEAR_FEW_BYTES, 0},
        {"secret_list_mask_events", run_mask, linear_any_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_a_worker_reads),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_worker", tests, NULL, NULL);
}
