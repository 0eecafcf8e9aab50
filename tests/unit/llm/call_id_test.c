/*
 * Ids of calls that carry a signature.
 */
#include "llm/call_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm_fixture.h"

static const struct {
    const char *id;
    const char *bare;
    const char *signature;
    bool is_kept;
} ids[] = {
    {"call_1", "call_1", NULL, true},
    {"call_1__thought__c2ln", "call_1", "c2ln", true},
    {"call_1__thought__a+/-_b==", "call_1", "a+/-_b==", true},
    {"call_1__thought__a__thought__b", "call_1", "a__thought__b", true},
    {"call_1__thought__", "call_1", "", false},
    {"call_1__thought__a b", "call_1", "a b", false},
    {"__thought__a", "", "a", false},
    {"", "", NULL, false},
};

static void id_is_split_at_its_first_mark(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        json_auto_t *bare = call_id_bare(ids[i].id);
        const char *signature = call_id_signature(ids[i].id);

        assert_string_equal(json_string_value(bare), ids[i].bare);
        assert_int_equal(call_id_bare_len(ids[i].id), strlen(ids[i].bare));
        assert_int_equal(signature == NULL, ids[i].signature == NULL);
        if (signature != NULL)
            assert_string_equal(signature, ids[i].signature);
        assert_int_equal(call_id_is_kept(ids[i].id), ids[i].is_kept);
    }
}

static void parts_have_a_largest_length(void **state)
{
    static const struct {
        size_t id;
        size_t signature;
        bool is_kept;
    } lengths[] = {{256, 0, true}, {257, 0, false}, {256, 65536, true}, {256, 65537, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

        for (size_t n = 0; n < lengths[i].id; n++)
            strbuf_append_char(&id, 'x');
        strbuf_append(&id, lengths[i].signature > 0 ? "__thought__" : "");
        for (size_t n = 0; n < lengths[i].signature; n++)
            strbuf_append_char(&id, 'A');
        assert_int_equal(call_id_is_kept(id.text), lengths[i].is_kept);
    }
}

static const struct {
    const char *id;
    const char *signature;
    const char *expected;
} signed_ids[] = {
    {"a", "c2ln", "a__thought__c2ln"},
    {"a", "", "a"},
    {"a", "a b", "a"},
    {"a__thought__x", "c2ln", "a__thought__x"},
};

static void valid_signature_becomes_a_part_of_the_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signed_ids); i++) {
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf signature = STRBUF_INIT;

        strbuf_append(&id, signed_ids[i].id);
        strbuf_append(&signature, signed_ids[i].signature);
        call_id_add_signature(&id, &signature);
        assert_string_equal(id.text, signed_ids[i].expected);
    }
}

static const struct {
    const char *message;
    const char *expected; /* NULL: it has no signature */
} messages[] = {
    {"{'role':'user'}", NULL},
    {"{'role':'assistant','tool_calls':[{'id':'a'},{'id':'b'}]}", NULL},
    {"{'role':'tool','tool_call_id':'a'}", NULL},
    {"{'role':'assistant','x':1,'tool_calls':[{'id':'a'},{'id':'b__thought__c','y':2}]}",
     "{'role':'assistant','x':1,'tool_calls':[{'id':'a'},{'id':'b','y':2}]}"},
    {"{'role':'tool','tool_call_id':'a__thought__c','z':3}",
     "{'role':'tool','tool_call_id':'a','z':3}"},
};

static void other_servers_see_no_signature(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        json_auto_t *message = parsed_quotes(messages[i].message);
        CLEANUP(mem_freep) char *before = json_to_text(message);
        CLEANUP(mem_freep) char *after = NULL;
        json_auto_t *bare = call_ids_without_signatures(message);

        after = json_to_text(message);
        assert_string_equal(after, before);
        assert_int_equal(bare == NULL, messages[i].expected == NULL);
        if (bare != NULL) {
            CLEANUP(mem_freep) char *text = json_to_text(bare);

            assert_quotes_at(text, "", messages[i].expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_is_split_at_its_first_mark),
        cmocka_unit_test(parts_have_a_largest_length),
        cmocka_unit_test(valid_signature_becomes_a_part_of_the_id),
        cmocka_unit_test(other_servers_see_no_signature),
    };

    json_setup();
    return cmocka_run_group_tests_name("call_id", tests, NULL, NULL);
}
