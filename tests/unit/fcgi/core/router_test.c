#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "contract_paths.h"
#include "fcgi/core/router.h"

/* All that is answered without a key or a session; nginx's own routes aside. */
static const char *const public_routes[] = {
    "GET /",
    "GET /alive",
    "GET /api/init",
    "POST /api/init",
    "GET /api/mcp/oauth/redirect",
    "DELETE /api/auth/workspace-session",
    "POST /api/v1/sign-in",
    "GET /api/v1/preview",
    "GET /health",
    "GET /openapi.json",
    "GET /ready",
    "GET /server_info",
};

static bool is_public(const struct route *route)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s %s", http_method_to_string(route->method), route->pattern);
    for (size_t i = 0; i < ARRAY_SIZE(public_routes); i++) {
        if (text_equal(public_routes[i], name.text))
            return true;
    }
    return false;
}

/* A request as far as the router looks at it. The segments are borrowed. */
static struct request request_for(enum http_method method, enum origin origin, char **segments,
                                  size_t n)
{
    struct request request = {.method = method, .origin = origin, .path.n_segments = n};

    memcpy(request.path.segments, segments, n * sizeof(*segments));
    return request;
}

/* Splits a path; the {parameters} of a pattern are kept as they are. */
static size_t split(const char *path, char *buffer, char **segments)
{
    size_t n = 0;

    assert_in_range(strlen(path), 1, CONTRACT_PATH_MAX_BYTES - 1);
    memcpy(buffer, path, strlen(path) + 1);
    for (char *at = buffer; at != NULL && n < PATH_MAX_SEGMENTS;) {
        segments[n++] = at + 1;
        at = strchr(at + 1, '/');
        if (at != NULL)
            *at = '\0';
    }
    return n;
}

/* Declares request, allowed and result. */
#define FIND(method, origin, path)                                                                 \
    char buffer_[CONTRACT_PATH_MAX_BYTES];                                                         \
    char *segments_[PATH_MAX_SEGMENTS];                                                            \
    size_t n_segments_ = split((path), buffer_, segments_);                                        \
    struct request request = request_for(method, origin, segments_, n_segments_);                  \
    unsigned allowed = 0;                                                                          \
    enum route_result result = route_find(&request, &allowed)

static bool matches(const char *pattern, const char *path)
{
    char buffer[CONTRACT_PATH_MAX_BYTES];
    struct url_path split_path = {.n_segments = 0};

    split_path.n_segments = split(path, buffer, split_path.segments);
    return url_path_matches(&split_path, pattern);
}

static void literal_wins_over_parameter(void **state)
{
    FIND(HTTP_GET, ORIGIN_AGENT, "/api/conversations/search");

    (void)state;
    assert_int_equal(result, ROUTE_FOUND);
    assert_string_equal(request.route->pattern, "/api/conversations/search");
}

static void parameter_takes_the_segment(void **state)
{
    FIND(HTTP_GET, ORIGIN_AGENT, "/api/conversations/5d3f");

    (void)state;
    assert_int_equal(result, ROUTE_FOUND);
    assert_string_equal(request_path_text(&request, "conversation_id"), "5d3f");
}

static void parameter_is_not_empty_nor_dots(void **state)
{
    (void)state;
    assert_true(matches("/api/conversations/{id}", "/api/conversations/x"));
    assert_false(matches("/api/conversations/{id}", "/api/conversations/.."));
    assert_false(matches("/api/conversations/{id}", "/api/conversations/"));
}

static void rest_takes_all_segments(void **state)
{
    (void)state;
    assert_true(matches("/api/{path*}", "/api//some/path"));
    assert_false(matches("/api/{path*}", "/api"));
    assert_false(matches("/api/{path*}", "/api/some/.."));
}

static void other_method_lists_what_is_allowed(void **state)
{
    FIND(HTTP_PUT, ORIGIN_AGENT, "/api/conversations/5d3f");

    (void)state;
    assert_int_equal(result, ROUTE_OTHER_METHOD);
    assert_null(request.route);
    assert_int_equal(allowed, 1U << HTTP_GET | 1U << HTTP_DELETE | 1U << HTTP_PATCH);
}

static void other_slash_is_noticed(void **state)
{
    FIND(HTTP_GET, ORIGIN_AGENT, "/api/conversations/");

    (void)state;
    (void)request;
    assert_int_equal(result, ROUTE_OTHER_SLASH);
}

static void routes_of_one_origin_are_unknown_on_the_other(void **state)
{
    (void)state;
    {
        FIND(HTTP_GET, ORIGIN_AGENT, "/api/v1/me");
        assert_null(request.route);
        assert_int_equal(result, ROUTE_UNKNOWN);
    }
    {
        FIND(HTTP_GET, ORIGIN_APP, "/api/v1/me");
        assert_non_null(request.route);
        assert_int_equal(result, ROUTE_FOUND);
    }
}

static void every_row_says_who_may_call(void **state)
{
    (void)state;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if (route->access == ACCESS_UNSET || route->origins == 0)
                fail_msg("%s has no access or no origin", route->pattern);
            assert_in_range(route->method, 0, HTTP_OTHER - 1);
        }
    }
}

/* Those of previews and sockets are nginx's own questions. */
static void routes_without_a_caller_are_these_and_no_other(void **state)
{
    size_t n_public = 0;

    (void)state;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if (route->origins == ORIGIN_PREVIEW || route->origins == ORIGIN_SOCKET)
                continue;
            if ((route->access == ACCESS_PUBLIC) != is_public(route))
                fail_msg("%s %s", http_method_to_string(route->method), route->pattern);
            n_public += is_public(route);
        }
    }
    assert_int_equal(n_public, ARRAY_SIZE(public_routes));
}

static void no_row_is_there_twice(void **state)
{
    (void)state;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            size_t n = 0;

            for (const struct route *const *other = route_tables; *other != NULL; other++) {
                for (const struct route *row = *other; row->handle != NULL; row++)
                    n += row->method == route->method && text_equal(row->pattern, route->pattern);
            }
            if (n != 1)
                fail_msg("%s is there %zu times", route->pattern, n);
        }
    }
}

static void every_path_of_the_contract_is_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(contract_paths); i++) {
        char buffer[CONTRACT_PATH_MAX_BYTES];
        char *segments[PATH_MAX_SEGMENTS];
        size_t n = split(contract_paths[i].path, buffer, segments);
        struct request request = request_for(contract_paths[i].method, ORIGIN_AGENT, segments, n);
        unsigned allowed = 0;

        if (route_find(&request, &allowed) != ROUTE_FOUND)
            fail_msg("%s has no route", contract_paths[i].path);
        mem_free(request.params.tail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_wins_over_parameter),
        cmocka_unit_test(parameter_takes_the_segment),
        cmocka_unit_test(parameter_is_not_empty_nor_dots),
        cmocka_unit_test(rest_takes_all_segments),
        cmocka_unit_test(other_method_lists_what_is_allowed),
        cmocka_unit_test(other_slash_is_noticed),
        cmocka_unit_test(routes_of_one_origin_are_unknown_on_the_other),
        cmocka_unit_test(every_row_says_who_may_call),
        cmocka_unit_test(routes_without_a_caller_are_these_and_no_other),
        cmocka_unit_test(no_row_is_there_twice),
        cmocka_unit_test(every_path_of_the_contract_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
