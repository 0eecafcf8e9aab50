#include "client/mcp_site.h"

#include "base/mem.h"
#include "base/strbuf.h"

void site_add(struct site *site, const char *status, const char *body)
{
    struct strbuf *text = &site->texts[site->n];

    strbuf_appendf(text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\n\r\n", status);
    for (const char *at = body; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 'U') {
            strbuf_append(text, test_server_url(site->server, ""));
            at++;
        } else {
            strbuf_append_char(text, *at);
        }
    }
    site->replies[site->n].bytes = text->text;
    site->replies[site->n].ending = TEST_CLOSE;
    site->n++;
}

void site_add_discovery(struct site *site, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf metadata = STRBUF_INIT;

    site_add(site, "401 Unauthorized", "{}");
    site_add(site, "200 OK",
             "{\"resource\":\"%U/mcp\",\"authorization_servers\":[\"%U\"],"
             "\"scopes_supported\":[\"r\",\"w\"]}");
    strbuf_appendf(&metadata,
                   "{\"issuer\":\"%%U\",\"authorization_endpoint\":\"%%U/authorize\","
                   "\"token_endpoint\":\"%%U/token\",\"code_challenge_methods_supported\":"
                   "[\"S256\"]%s}",
                   more);
    site_add(site, "200 OK", metadata.text);
}

struct site *site_open(void)
{
    struct site *site = NEW(struct site);

    for (size_t i = 0; i < SITE_REPLIES_MAX; i++)
        site->texts[i] = (struct strbuf)STRBUF_INIT;
    site->server = test_server_start(site->replies, SITE_REPLIES_MAX, NULL);
    return site;
}

void site_close(struct site *site)
{
    test_server_stop(site->server);
    for (size_t i = 0; i < SITE_REPLIES_MAX; i++)
        strbuf_done(&site->texts[i]);
    mem_free(site);
}

void site_add_tools(struct site *site)
{
    site_add(site, "200 OK", "{\"id\":1,\"result\":{}}");
    site_add(site, "202 Accepted", "");
    site_add(site, "200 OK", "{\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}]}}");
}
