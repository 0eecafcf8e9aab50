#include "gateway/preview/error_page.h"

#include "base/strbuf.h"

static const char head[] =
    "HTTP/1.1 502 Bad Gateway\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "Connection: close\r\n";

static const char page[] = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n"
                           "<title>The response cannot be shown</title>\n"
                           "<h1>The response cannot be shown</h1>\n";

void error_page_append(struct strbuf *out, int status)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, page);
    strbuf_append(&body, "<p>The program in the sandbox did not send a valid HTTP response");
    if (status != 0)
        strbuf_appendf(&body, " to this request: its status is %03d", status);
    strbuf_append(&body, ". Check the program, and what listens on that port.</p>\n</html>\n");
    strbuf_append(out, head);
    strbuf_appendf(out, "Content-Length: %zu\r\n\r\n", body.len);
    strbuf_append(out, body.text);
}
