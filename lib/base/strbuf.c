#include "base/strbuf.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_SIZE_BYTES = 64, FORMATTED_USUAL_BYTES = 48 };

/* Shared by all fresh buffers; never written to, since size is 0. */
/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a char * must point to it */
/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): never written */
char strbuf_empty[1] = "";

void strbuf_done(struct strbuf *buf)
{
    if (buf == NULL)
        return;
    if (buf->size > 0)
        mem_free(buf->text - buf->head);
    *buf = (struct strbuf)STRBUF_INIT;
}

/* Moves the content to the start of its allocation. */
static void use_head(struct strbuf *buf)
{
    if (buf->head == 0)
        return;
    memmove(buf->text - buf->head, buf->text, buf->len + 1);
    buf->text -= buf->head;
    buf->size += buf->head;
    buf->head = 0;
}

void strbuf_reset(struct strbuf *buf)
{
    strbuf_truncate(buf, 0);
    use_head(buf);
}

void strbuf_reserve(struct strbuf *buf, size_t extra)
{
    size_t needed = buf->len + extra + 1;
    size_t size = 0;
    /* A move no longer than what was removed since the last one is free on average. */
    bool is_worth_moving = buf->head > buf->len;

    assert(needed > extra);
    if (needed <= buf->size)
        return;
    use_head(buf);
    if (is_worth_moving && needed <= buf->size)
        return;
    size = buf->size > 0 ? 2 * buf->size : FIRST_SIZE_BYTES;
    while (size < needed)
        size *= 2;
    buf->text = mem_resize(buf->size > 0 ? buf->text : NULL, size);
    buf->size = size;
    buf->text[buf->len] = '\0';
}

void strbuf_append_bytes(struct strbuf *buf, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    strbuf_reserve(buf, len);
    memcpy(buf->text + buf->len, bytes, len);
    buf->len += len;
    buf->text[buf->len] = '\0';
}

void strbuf_append(struct strbuf *buf, const char *text)
{
    strbuf_append_bytes(buf, text, strlen(text));
}

void strbuf_append_char(struct strbuf *buf, char c)
{
    strbuf_reserve(buf, 1);
    buf->text[buf->len++] = c;
    buf->text[buf->len] = '\0';
}

void strbuf_vappendf(struct strbuf *buf, const char *format, va_list args)
{
    va_list again;
    int len = 0;

    strbuf_reserve(buf, FORMATTED_USUAL_BYTES);
    va_copy(again, args);
    len = vsnprintf(buf->text + buf->len, buf->size - buf->len, format, again);
    va_end(again);
    assert(len >= 0);
    /* Printed again if it did not fit. */
    if ((size_t)len >= buf->size - buf->len) {
        buf->text[buf->len] = '\0';
        strbuf_reserve(buf, (size_t)len);
        len = vsnprintf(buf->text + buf->len, buf->size - buf->len, format, args);
        assert(len >= 0);
    }
    buf->len += (size_t)len;
}

void strbuf_appendf(struct strbuf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vappendf(buf, format, args);
    va_end(args);
}

void strbuf_truncate(struct strbuf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    buf->len = len;
    buf->text[len] = '\0';
}

void strbuf_remove_head(struct strbuf *buf, size_t n)
{
    if (n >= buf->len) {
        strbuf_reset(buf);
        return;
    }
    buf->text += n;
    buf->len -= n;
    buf->size -= n;
    buf->head += n;
}

char *strbuf_take(struct strbuf *buf)
{
    char *text = NULL;

    if (buf->size == 0)
        return mem_dup_text("");
    use_head(buf);
    text = buf->text;
    *buf = (struct strbuf)STRBUF_INIT;
    return text;
}
