/*
 * A short text page without any active content.
 */
#include "base/strbuf.h"
#include "fcgi/core/reply.h"
#include "fcgi/preview/preview_origin.h"

static const char head[] = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";

static void append_escaped(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            strbuf_append(out, "&amp;");
        else if (*text == '<')
            strbuf_append(out, "&lt;");
        else if (*text == '"')
            strbuf_append(out, "&quot;");
        else
            strbuf_append_char(out, *text);
    }
}

int preview_page(struct reply *reply, const struct preview_words *words, const char *link)
{
    struct strbuf *out = &reply->body;

    reply->status = words->status;
    reply->content_type = "text/html; charset=utf-8";
    strbuf_reset(out);
    strbuf_append(out, head);
    append_escaped(out, words->title);
    strbuf_append(out, "</title>\n<h1>");
    append_escaped(out, words->title);
    strbuf_append(out, "</h1>\n<p>");
    append_escaped(out, words->words);
    strbuf_append(out, "</p>\n");
    if (link != NULL && words->link_text != NULL) {
        strbuf_append(out, "<p><a href=\"");
        append_escaped(out, link);
        strbuf_append(out, "\">");
        append_escaped(out, words->link_text);
        strbuf_append(out, "</a></p>\n");
    }
    strbuf_append(out, "</html>\n");
    return 0;
}
