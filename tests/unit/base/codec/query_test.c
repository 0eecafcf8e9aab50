#include <stdbool.h>

#include "base/codec/query.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

struct query_case {
    const char *query;
    const char *items; /* "name=value;" of each, decoded */
};

static const struct query_case query_cases[] = {
    {"", ""},
    {"&&", ""},
    {"a=1", "a=1;"},
    {"a=1&&b=2&", "a=1;b=2;"},
    {"a", "a=;"},
    {"=1", "=1;"},
    {"a=b=c", "a=b=c;"},
    {"na%6de=x+y%20z", "name=x y z;"},
    {"a=%zz", "a=%zz;"},
};

static void items_are_decoded_one_by_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(query_cases); i++) {
        CLEANUP(strbuf_done) struct strbuf items = STRBUF_INIT;
        struct query_reader reader = {query_cases[i].query};
        bool has_item = true;

        while (has_item) {
            CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
            CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

            has_item = query_next(&reader, &name, &value);
            if (has_item)
                strbuf_appendf(&items, "%s=%s;", name.text, value.text);
        }
        assert_string_equal(items.text, query_cases[i].items);
    }
}

static void first_item_of_the_name_counts(void **state)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;

    (void)state;
    query_append_value("bb=0&b=1%2C2&b=3", "b", &value);
    assert_string_equal(value.text, "1,2");
    query_append_value("b%00=1&bb=2", "b", &none);
    assert_int_equal(none.len, 0);
}

int query_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_decoded_one_by_one),
        cmocka_unit_test(first_item_of_the_name_counts),
    };

    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
