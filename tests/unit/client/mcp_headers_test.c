/*
 * The headers that an MCP server's configuration asks for, and that its secrets leave no copy.
 */
#include "client/mcp_headers.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

/* A reading, and its headers as "name: value" lines. */
struct reading {
    json_t *server;
    struct mcp_headers headers;
    struct strbuf lines;
    struct error err;
    int rc;
};

static void begin(struct reading *reading, const char *server)
{
    *reading =
        (struct reading){.headers = MCP_HEADERS_INIT, .lines = STRBUF_INIT, .err = ERROR_INIT};
    assert_int_equal(json_parse(server, strlen(server), &reading->server, &reading->err), 0);
    reading->rc = mcp_headers_read(&reading->headers, reading->server, &reading->err);
    strbuf_append(&reading->lines, "");
    for (const struct http_header *item = reading->headers.items; item->name != NULL; item++)
        strbuf_appendf(&reading->lines, "%s: %s\n", item->name, item->value);
}

static void end(struct reading *reading)
{
    mcp_headers_done(&reading->headers);
    strbuf_done(&reading->lines);
    json_decref(reading->server);
}

static const struct {
    const char *server;
    const char *lines; /* NULL: refused */
} readings[] = {
    {"{}", ""},
    {"{\"auth\":{\"strategy\":\"none\",\"value\":\"v\"}}", ""},
    {"{\"auth\":{\"strategy\":\"bearer\",\"value\":\"v\"}}", "Authorization: Bearer v\n"},
    {"{\"auth\":{\"strategy\":\"api_key\",\"value\":\"v\"}}", "X-API-Key: v\n"},
    {"{\"auth\":{\"strategy\":\"api_key\",\"value\":\"v\",\"header_name\":\"X-Own\"}}",
     "X-Own: v\n"},
    {"{\"auth\":{\"strategy\":\"basic\",\"username\":\"Aladdin\",\"password\":\"open sesame\"}}",
     "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n"},
    {"{\"auth\":{\"strategy\":\"header\",\"headers\":{\"X-A\":\"1\",\"X-N\":2,\"X-B\":\"3\"}}}",
     "X-A: 1\nX-B: 3\n"},
    {"{\"auth\":{\"strategy\":\"oauth2\",\"state\":{\"tokens\":{\"access_token\":\"t\"}}}}",
     "Authorization: Bearer t\n"},
    {"{\"auth\":{\"strategy\":\"oauth2\",\"state\":{\"tokens\":{\"access_token\":\"\"}}}}", NULL},
    {"{\"auth\":{\"strategy\":\"oauth2\"}}", NULL},
    {"{\"auth\":{\"strategy\":\"kerberos\",\"value\":\"v\"}}", NULL},
    {"{\"headers\":{\"X-A\":\"1\",\"X-Null\":null,\"X-N\":2,\"X-B\":\"3\"}}", "X-A: 1\nX-B: 3\n"},
    {"{\"headers\":{\"X-A\":\"1\"},\"auth\":{\"strategy\":\"bearer\",\"value\":\"v\"}}",
     "X-A: 1\nAuthorization: Bearer v\n"},
};

static void headers_are_those_of_the_configuration(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
        struct reading reading;
        bool is_refused = readings[i].lines == NULL;

        begin(&reading, readings[i].server);
        if (reading.rc != (is_refused ? -1 : 0) ||
            reading.err.code != (is_refused ? ERROR_INVALID : ERROR_NONE) ||
            strcmp(reading.lines.text, is_refused ? "" : readings[i].lines) != 0)
            fail_msg("%s: %s", readings[i].server, reading.lines.text);
        end(&reading);
    }
}

static void unknown_strategy_is_named(void **state)
{
    struct reading reading;

    (void)state;
    begin(&reading, "{\"auth\":{\"strategy\":\"kerberos\"}}");
    assert_string_equal(reading.err.message,
                        "Signing in by kerberos is not supported by this server");
    end(&reading);
}

static void headers_over_the_limit_are_left_out(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct reading reading;

    (void)state;
    strbuf_append(&text, "{\"headers\":{");
    for (int i = 0; i <= MCP_MAX_HEADERS; i++)
        strbuf_appendf(&text, "%s\"X-%d\":\"%d\"", i > 0 ? "," : "", i, i);
    strbuf_append(&text, "},\"auth\":{\"strategy\":\"bearer\",\"value\":\"v\"}}");
    begin(&reading, text.text);
    assert_int_equal(reading.rc, 0);
    assert_int_equal(reading.headers.n, MCP_MAX_HEADERS);
    assert_null(reading.headers.items[MCP_MAX_HEADERS].name);
    assert_string_equal(reading.headers.items[MCP_MAX_HEADERS - 1].value, "23");
    end(&reading);
}

/* --- released memory; the linker puts this function in front of mem_free() --- */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ld's */
void __real_mem_free(void *memory);
void __wrap_mem_free(void *memory);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): mem_free() takes no context */
static const char *searched;
static size_t n_found;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

void __wrap_mem_free(void *memory)
{
    if (memory != NULL && searched != NULL &&
        memmem(memory, malloc_usable_size(memory), searched, strlen(searched)) != NULL)
        n_found++;
    __real_mem_free(memory);
}

static void released_memory_has_no_secrets(void **state)
{
    static const struct {
        const char *server;
        const char *secret;
    } secrets[] = {
        {"{\"headers\":{\"X-A\":\"open sesame\"}}", "open sesame"},
        {"{\"auth\":{\"strategy\":\"bearer\",\"value\":\"open sesame\"}}", "open sesame"},
        {"{\"auth\":{\"strategy\":\"basic\",\"username\":\"Aladdin\","
         "\"password\":\"open sesame\"}}",
         "open sesame"},
        {"{\"auth\":{\"strategy\":\"basic\",\"username\":\"Aladdin\","
         "\"password\":\"open sesame\"}}",
         "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
        struct mcp_headers headers = MCP_HEADERS_INIT;
        struct error err = ERROR_INIT;
        json_t *server = NULL;

        assert_int_equal(json_parse(secrets[i].server, strlen(secrets[i].server), &server, &err),
                         0);
        searched = secrets[i].secret;
        n_found = 0;
        assert_int_equal(mcp_headers_read(&headers, server, &err), 0);
        mcp_headers_done(&headers);
        searched = NULL;
        if (n_found > 0)
            fail_msg("%s: %s", secrets[i].server, secrets[i].secret);
        json_decref(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_those_of_the_configuration),
        cmocka_unit_test(unknown_strategy_is_named),
        cmocka_unit_test(headers_over_the_limit_are_left_out),
        cmocka_unit_test(released_memory_has_no_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
