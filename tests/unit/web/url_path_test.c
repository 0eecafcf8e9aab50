/*
 * Paths of requests, and the patterns of routes that they match.
 */
#include "web/url_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"

static bool matches(const char *pattern, const char *target)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    struct error err = ERROR_INIT;

    assert_int_equal(url_path_read(&path, target, &err), 0);
    return url_path_matches(&path, pattern);
}

static const struct {
    const char *pattern;
    const char *target;
    bool matches;
} pairs[] = {
    {"/runtime/{id}", "/runtime/a?b=1", true},
    {"/runtime/{id}", "/runtime/a", true},
    {"/runtime/{id}/log", "/runtime/a/log", true},
    {"/runtime/{id}", "/runtime/", false},
    {"/runtime/{id}", "/runtime", false},
    {"/runtime/{id}", "/runtime/a/", false},
    {"/runtime/{id}", "/runtime/a/b", false},
    {"/runtime/{id}", "/runtime/.", false},
    {"/runtime/{id}", "/runtime/..", false},
    {"/runtime/{id}", "/runtime/...", true},
    {"/runtime/{id}", "/runtimes/a", false},
    {"/runtime/{id}", "/runtim/a", false},
    {"/runtime/{id}", "/other/a", false},
    {"/runtime/{id}/log", "/runtime/a/lo", false},
    {"/runtime/{id}/log", "/runtime/a/logs", false},
    {"/files/{path*}", "/files/a/b", true},
    {"/files/{path*}", "/files/a", true},
    {"/files/{path*}", "/files/a/", true},
    {"/files/{path*}", "/files//", true},
    {"/files/{path*}", "/files/", false},
    {"/files/{path*}", "/files", false},
    {"/files/{path*}", "/files/a/../b", false},
    {"/files/{path*}", "/files/./b", false},
    {"/files/{path*}", "/files/a/%2e%2e", false},
    {"/li%st", "/li%25st", true},
    {"/a/", "/a/", true},
    {"/a/", "/a", false},
    {"/a", "/a/", false},
    {"/", "/", true},
    {"/", "", false},
    {"", "", true},
    {"", "/", false},
    {"/..", "/..", false},
    {"/{}", "/{}", true},
    {"/{}", "/a", false},
    {"/{a", "/{a", true},
    {"/{a", "/b", false},
    {"/a}", "/b", false},
    {"/{a}b", "/c", false},
};

static void path_has_the_patterns_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        if (matches(pairs[i].pattern, pairs[i].target) != pairs[i].matches)
            fail_msg("%s %s", pairs[i].pattern, pairs[i].target);
    }
}

/* The segments, each after a "|". */
static void assert_segments(const char *target, const char *expected)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 7};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(url_path_read(&path, target, &err), 0);
    for (size_t i = 0; i < path.n_segments; i++)
        strbuf_appendf(&text, "|%s", path.segments[i]);
    assert_string_equal(text.text, expected);
    url_path_done(&path);
    assert_int_equal(path.n_segments, 0);
}

static void segments_are_decoded_one_by_one(void **state)
{
    (void)state;
    assert_segments("/a/b", "|a|b");
    assert_segments("/a/b/", "|a|b|");
    assert_segments("/a//b", "|a||b");
    assert_segments("/", "|");
    assert_segments("", "");
    assert_segments("a/b", "");
    assert_segments("/a?b/c", "|a");
    assert_segments("/?/c", "|");
    assert_segments("/a%2Fb/%3F+%c3%a4", "|a/b|?+\xc3\xa4");
    assert_segments("/%zz/%4", "|%zz|%4");
}

static void parameters_are_decoded(void **state)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(path_params_done) struct path_params params = {.n = 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(url_path_read(&path, "/a/x%2Fy+z/b/c/d", &err), 0);
    url_path_take_params(&path, "/a/{id}/{rest*}", &params);
    assert_int_equal(params.n, 2);
    assert_string_equal(path_params_text(&params, "id"), "x/y+z");
    assert_string_equal(path_params_text(&params, "rest"), "b/c/d");
    assert_string_equal(path_params_text(&params, "other"), "");
    assert_string_equal(path_params_text(&params, "i"), "");
    assert_string_equal(path_params_text(&params, "idx"), "");
    assert_string_equal(path_params_text(&params, "ix"), "");
    assert_string_equal(path_params_text(&params, "rest*"), "");
    path_params_done(&params);
    assert_int_equal(params.n, 0);
    assert_null(params.tail);
    path_params_done(NULL);
    url_path_done(NULL);
}

static void rest_of_one_segment_is_that_segment(void **state)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(path_params_done) struct path_params params = {.n = 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(url_path_read(&path, "/only", &err), 0);
    url_path_take_params(&path, "/{rest*}", &params);
    assert_string_equal(path_params_text(&params, "rest"), "only");
}

static void parameters_are_as_many_as_a_pattern_may_have(void **state)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(path_params_done) struct path_params params = {.n = 7};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(url_path_read(&path, "/1/2/x/3/4/5", &err), 0);
    url_path_take_params(&path, "/{a}/{b}/x/{c}/{d}/{e}", &params);
    assert_int_equal(params.n, PATH_MAX_PARAMS);
    assert_string_equal(path_params_text(&params, "a"), "1");
    assert_string_equal(path_params_text(&params, "b"), "2");
    assert_string_equal(path_params_text(&params, "c"), "3");
    assert_string_equal(path_params_text(&params, "d"), "4");
    assert_string_equal(path_params_text(&params, "e"), "");
    assert_string_equal(path_params_text(&params, "x"), "");
    url_path_take_params(&path, "", &params);
    assert_int_equal(params.n, 0);
}

static void path_that_is_no_text_is_refused(void **state)
{
    static const char *const targets[] = {"/a/%ff", "/a/%00b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
        struct error err = ERROR_INIT;

        assert_int_equal(url_path_read(&path, targets[i], &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, "the address is not UTF-8");
    }
}

static void deep_path_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(url_path_done) struct url_path deeper = {.n_segments = 0};
    struct url_path other = {.n_segments = 0};
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < PATH_MAX_SEGMENTS; i++)
        strbuf_append(&target, "/a");
    assert_int_equal(url_path_read(&path, target.text, &err), 0);
    assert_int_equal(path.n_segments, PATH_MAX_SEGMENTS);
    url_path_other_slash(&path, &other);
    assert_int_equal(other.n_segments, PATH_MAX_SEGMENTS + 1);
    assert_string_equal(other.segments[PATH_MAX_SEGMENTS], "");
    strbuf_append(&target, "/a");
    assert_int_equal(url_path_read(&deeper, target.text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "the path has too many parts");
}

static void slash_at_the_end_is_added_or_removed(void **state)
{
    static const struct {
        const char *target;
        const char *pattern; /* of the other path */
    } cases[] = {{"/a/b", "/a/b/"}, {"/a/b/", "/a/b"}, {"/", ""}, {"", "/"}, {"/a//", "/a/"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
        struct url_path other = {.n_segments = 0};
        struct error err = ERROR_INIT;

        assert_int_equal(url_path_read(&path, cases[i].target, &err), 0);
        url_path_other_slash(&path, &other);
        assert_true(url_path_matches(&other, cases[i].pattern));
        assert_true(url_path_matches(&path, cases[i].target));
    }
}

static void literal_bytes_of_a_pattern_are_counted(void **state)
{
    (void)state;
    assert_int_equal(url_pattern_literal_bytes(""), 0);
    assert_int_equal(url_pattern_literal_bytes("/"), 1);
    assert_int_equal(url_pattern_literal_bytes("/a/bc"), 5);
    assert_int_equal(url_pattern_literal_bytes("/a/{id}/bc"), 5);
    assert_int_equal(url_pattern_literal_bytes("/a/{rest*}"), 2);
    assert_int_equal(url_pattern_literal_bytes("/{}"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_has_the_patterns_form),
        cmocka_unit_test(segments_are_decoded_one_by_one),
        cmocka_unit_test(parameters_are_decoded),
        cmocka_unit_test(rest_of_one_segment_is_that_segment),
        cmocka_unit_test(parameters_are_as_many_as_a_pattern_may_have),
        cmocka_unit_test(path_that_is_no_text_is_refused),
        cmocka_unit_test(deep_path_is_refused),
        cmocka_unit_test(slash_at_the_end_is_added_or_removed),
        cmocka_unit_test(literal_bytes_of_a_pattern_are_counted),
    };

    return cmocka_run_group_tests_name("url_path", tests, NULL, NULL);
}
