#include "client/mcp_fixture.h"

#include <string.h>

#include "base/strbuf.h"

static const struct http_header no_headers[] = {{NULL, NULL}};

void mcp_fixture_start(struct mcp_fixture *fixture, const struct test_reply *replies, size_t n,
                       bool uses_sse)
{
    *fixture = (struct mcp_fixture){.err = ERROR_INIT};
    fixture->server = test_server_start(replies, n, NULL);
    assert_int_equal(http_open(&fixture->http, &fixture->err), 0);
    fixture->options = (struct mcp_options){.http = fixture->http,
                                            .url = test_server_url(fixture->server, "/mcp"),
                                            .headers = no_headers,
                                            .uses_sse = uses_sse,
                                            .address_of = ADDRESS_OF_ADMINISTRATOR,
                                            .timeout_ms = PATIENCE_MS};
}

void mcp_fixture_stop(struct mcp_fixture *fixture)
{
    http_free(fixture->http);
    test_server_stop(fixture->server);
}

bool mcp_fixture_has_header(const struct mcp_fixture *fixture, size_t i, const char *name,
                            const char *value)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    strbuf_appendf(&line, "\r\n%s: %s\r\n", name, value);
    return strcasestr(test_server_request(fixture->server, i), line.text) != NULL;
}

const char *mcp_fixture_body(const struct mcp_fixture *fixture, size_t i)
{
    const char *end = strstr(test_server_request(fixture->server, i), "\r\n\r\n");

    return end != NULL ? end + 4 : "";
}

static void *cancel(void *context)
{
    struct mcp_canceller *canceller = context;

    (void)test_server_wait(canceller->server, canceller->n_requests);
    (void)test_server_wait_ended(canceller->server, canceller->n_ended);
    mcp_cancel(canceller->mcp);
    return NULL;
}

void mcp_canceller_start(struct mcp_canceller *canceller)
{
    assert_int_equal(pthread_create(&canceller->thread, NULL, cancel, canceller), 0);
}

void mcp_canceller_join(struct mcp_canceller *canceller)
{
    assert_int_equal(pthread_join(canceller->thread, NULL), 0);
}
