#include "model/plugins/mcp_file.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

/* What a file gives. */
struct read {
    json_t *found;
    json_t *problems;
};

static void read_done(struct read *read)
{
    json_decref(read->found);
    json_decref(read->problems);
}

/* A text whose quotes are written '. */
static struct read read_text(const char *text, const json_t *taken)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    struct read read = {json_object(), json_array()};

    for (const char *at = text; *at != '\0'; at++)
        strbuf_append_char(&json, (char)(*at == '\'' ? '"' : *at));
    mcp_file_read(json.text, "/w/.mcp.json", taken, read.found, read.problems);
    return read;
}

/* The configuration that is kept of a server; NULL: it is left out. */
static json_t *kept_of(const struct read *read, const char *name)
{
    return json_object_get(json_object_get(read->found, name), "server");
}

static void servers_are_kept_in_one_form(void **state)
{
    static const struct {
        const char *server;
        const char *kept;
    } cases[] = {
        {"{'url': 'https://a.example/mcp'}", "{'url': 'https://a.example/mcp'}"},
        {"{'url': 'http://a/sse', 'type': 'sse', 'icon': 'x', 'command': '', 'args': ['no']}",
         "{'url': 'http://a/sse', 'transport': 'sse'}"},
        {"{'headers': {'X-A': '${A}'}, 'url': 'https://a', 'transport': 'streamable-http',"
         " 'timeout': 5}",
         "{'url': 'https://a', 'headers': {'X-A': '${A}'}, 'timeout': 5, 'transport': 'http'}"},
        {"{'url': 'https://a', 'type': 'shttp', 'auth': {'strategy': 'bearer', 'value': '$T'}}",
         "{'url': 'https://a', 'auth': {'strategy': 'bearer', 'value': '$T'},"
         " 'transport': 'http'}"},
        {"{'command': 'npx', 'args': ['-y', 'ü'], 'env': {'K': 'v'}, 'cwd': '/w', 'type': 'stdio',"
         " 'headers': {'no': 'x'}, 'url': null}",
         "{'command': 'npx', 'args': ['-y', 'ü'], 'env': {'K': 'v'}, 'cwd': '/w'}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        for (int is_bare = 0; is_bare < 2; is_bare++) {
            strbuf_reset(&text);
            strbuf_appendf(&text, is_bare ? "{'a': %s}" : "{'mcpServers': {'a': %s}}",
                           cases[i].server);
            {
                CLEANUP(read_done) struct read read = read_text(text.text, NULL);

                assert_json_is(read.problems, "[]");
                assert_json_is(kept_of(&read, "a"), cases[i].kept);
                assert_string_equal(json_text_or(json_object_get(read.found, "a"), "source", ""),
                                    "/w/.mcp.json");
            }
        }
    }
}

#define WRONG                                                                                      \
    "one of its members is of another kind, too large, or has characters that cannot be seen"

static void servers_that_a_user_could_not_judge_are_left_out(void **state)
{
    static const struct {
        const char *server;
        const char *problem;
    } cases[] = {
        {"{}", "it needs either a url or a command"},
        {"5", "it needs either a url or a command"},
        {"{'url': 'https://a', 'command': 'sh'}", "it needs either a url or a command"},
        {"{'url': 5, 'command': 5}", "it needs either a url or a command"},
        {"{'url': 'file:///etc/passwd'}", "its url does not begin with https://"},
        {"{'url': 'https://a', 'type': 'stdio'}", "its transport is not known"},
        {"{'command': 'a', 'type': 'http'}", "its transport is not known"},
        {"{'url': 'https://a', 'type': 'carrier'}", "its transport is not known"},
        {"{'command': 'sh\\u0007'}", WRONG},
        {"{'command': 'sh', 'args': 'x'}", WRONG},
        {"{'command': 'sh', 'args': [5]}", WRONG},
        {"{'command': 'sh', 'args': ['a\\nb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u202eb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u200bb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u2066b']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u061cb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u0085b']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u00adb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u180eb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u3164b']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\ufe0fb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\ufeffb']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\uffa0b']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\udb40\\udc41b']}", WRONG},
        {"{'command': 'sh', 'args': ['a\\u007fb']}", WRONG},
        {"{'command': 'sh', 'env': {'A\\u001b': 'x'}}", WRONG},
        {"{'command': 'sh', 'env': {'': 'x'}}", WRONG},
        {"{'command': 'sh', 'env': {'A': {}}}", WRONG},
        {"{'command': 'sh', 'env': []}", WRONG},
        {"{'command': 'sh', 'cwd': {}}", WRONG},
        {"{'url': 'https://a', 'timeout': '5'}", WRONG},
        {"{'url': 'https://\\u0430.example'}", WRONG},
        {"{'url': 'https://a b'}", WRONG},
        {"{'url': 'https://a\\u007f'}", WRONG},
        {"{'url': 'https://a', 'auth': {'strategy': 'oauth2', 'state': {}}}", WRONG},
        {"{'url': 'https://a', 'auth': {'strategy': 'bearer', 'value': ['x']}}", WRONG},
        {"{'url': 'https://a', 'auth': {'strategy': 'bearer', 'a\\u001b': 'x'}}", WRONG},
        {"{'url': 'https://a', 'auth': 'x'}", WRONG},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf problem = STRBUF_INIT;

        strbuf_appendf(&text, "{'mcpServers': {'a': %s, 'b': {'command': 'ls'}}}", cases[i].server);
        strbuf_appendf(&problem, "['a: %s']", cases[i].problem);
        {
            CLEANUP(read_done) struct read read = read_text(text.text, NULL);

            assert_json_is(read.problems, problem.text);
            assert_null(kept_of(&read, "a"));
            assert_non_null(kept_of(&read, "b"));
        }
    }
}

static void names_are_what_they_look_like(void **state)
{
    static const char long_name[] =
        "{'1234567890123456789012345678901234567890123456789012345678901234': {'command': 'ls'},"
        " '12345678901234567890123456789012345678901234567890123456789012345': {'command': 'l'},"
        " '': {'command': 'l'}, 'a\\nb': {'command': 'l'}, 'gitlab\\u200b': {'command': 'l'},"
        " 'a b': {'command': 'ls'}, 'off': {'command': 'l', 'enabled': false},"
        " 'also': {'command': 'l', 'disabled': true}, 'mine': {'command': 'l'}}";
    json_auto_t *taken = json_of("{'mine': {}}");
    CLEANUP(read_done) struct read read = read_text(long_name, taken);

    (void)state;
    assert_int_equal(json_object_size(read.found), 2);
    assert_non_null(kept_of(&read, "a b"));
    assert_int_equal(json_array_size(read.problems), 5);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_string_value(json_array_get(read.problems, i)),
                            "a server's name is not one of 1 to 64 printable characters");
    assert_string_equal(json_string_value(json_array_get(read.problems, 4)),
                        "mine: the agent has a server of this name");
}

static void files_that_are_none_are_named(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "5", "{'mcpServers': []}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(read_done) struct read read = read_text(texts[i], NULL);

        assert_int_equal(json_array_size(read.problems), 1);
        assert_json_is(read.found, "{}");
    }
}

static void deep_file_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 100000; i++)
        strbuf_append(&text, "{'a':");
    {
        CLEANUP(read_done) struct read read = read_text(text.text, NULL);

        assert_int_equal(json_array_size(read.problems), 1);
        assert_json_is(read.found, "{}");
    }
}

static void numbers_and_sizes_are_limited(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf wide = STRBUF_INIT;

    (void)state;
    strbuf_append(&text, "{'0': {'command': 'x'}");
    for (int i = 1; i < 10000; i++)
        strbuf_appendf(&text, ", '%d': {'command': 'x'}", i);
    strbuf_append(&text, "}");
    strbuf_append(&wide, "{'large': {'command': '");
    for (int i = 0; i < 4096; i++)
        strbuf_append_char(&wide, 'x');
    strbuf_append(&wide, "'}, 'most': {'command': 'x', 'args': [''");
    for (int i = 1; i < 64; i++)
        strbuf_append(&wide, ",''");
    strbuf_append(&wide, "]}, 'many': {'command': 'x', 'args': [''");
    for (int i = 1; i < 65; i++)
        strbuf_append(&wide, ",''");
    strbuf_append(&wide, "]}}");
    {
        CLEANUP(read_done) struct read all = read_text(text.text, NULL);
        CLEANUP(read_done) struct read large = read_text(wide.text, NULL);

        assert_int_equal(json_object_size(all.found), MCP_FILE_SERVERS_MAX);
        assert_json_is(all.problems, "['there are more than 16 servers']");
        assert_int_equal(json_object_size(large.found), 1);
        assert_non_null(kept_of(&large, "most"));
        assert_json_is(large.problems, "['large: it is larger than 4 KiB', 'many: " WRONG "']");
    }
}

static void problems_are_limited(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    strbuf_append(&text, "{'0': {}");
    for (int i = 1; i < 100; i++)
        strbuf_appendf(&text, ", '%d': {}", i);
    strbuf_append(&text, "}");
    {
        CLEANUP(read_done) struct read read = read_text(text.text, NULL);

        assert_int_equal(json_array_size(read.problems), 10);
    }
}

/* A later file replaces a server of an earlier one, also when no further one is taken. */
static void digest_tells_servers_apart(void **state)
{
    static const char *const others[] = {
        "{'a': {'command': 'ls', 'args': ['x']}}",
        "{'a': {'command': 'ls', 'args': ['-l', 'x']}}",
        "{'a': {'command': 'ls', 'args': ['x'], 'env': {'A': 'b'}}}",
        "{'b': {'command': 'ls', 'args': ['x']}}",
    };
    CLEANUP(read_done) struct read first = read_text(others[0], NULL);
    CLEANUP(read_done) struct read same =
        read_text("{'mcpServers': {'a': {'icon': 'i', 'args': ['x'], 'command': 'ls'}}}", NULL);
    const char *digest = json_text_or(json_object_get(first.found, "a"), "digest", "");

    (void)state;
    assert_int_equal(strlen(digest), 64);
    assert_string_equal(digest, json_text_or(json_object_get(same.found, "a"), "digest", ""));
    for (size_t i = 1; i < ARRAY_SIZE(others); i++) {
        CLEANUP(read_done) struct read other = read_text(others[i], NULL);
        const char *name = i < 3 ? "a" : "b";

        assert_string_not_equal(digest,
                                json_text_or(json_object_get(other.found, name), "digest", ""));
    }
    mcp_file_read("{\"a\": {\"command\": \"rm\"}}", "/w/x/.mcp.json", NULL, first.found,
                  first.problems);
    assert_json_is(kept_of(&first, "a"), "{'command': 'rm'}");
}

int mcp_file_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_kept_in_one_form),
        cmocka_unit_test(servers_that_a_user_could_not_judge_are_left_out),
        cmocka_unit_test(names_are_what_they_look_like),
        cmocka_unit_test(files_that_are_none_are_named),
        cmocka_unit_test(deep_file_is_refused),
        cmocka_unit_test(numbers_and_sizes_are_limited),
        cmocka_unit_test(problems_are_limited),
        cmocka_unit_test(digest_tells_servers_apart),
    };

    return cmocka_run_group_tests_name("model/mcp_file", tests, NULL, NULL);
}
