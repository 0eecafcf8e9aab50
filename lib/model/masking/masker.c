#include "model/masking/masker.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "model/masking/mask_escapes.h"
#include "model/masking/mask_forms.h"
#include "model/masking/mask_omission.h"
#include "model/secrets/secret_length.h"

enum { BLOCK_BYTES = 4096 };

/* Maximum number of consecutive bytes skipped within a form; it bounds what a stream holds back. */
enum { SKIPPED_MAX = 32 };

/* The sandbox leaves out one part of a text; further marks come from other programs. */
enum { OMISSIONS_MAX = 4 };

struct masker {
    struct mask_forms forms;
};

/* State of a held-back byte. */
enum mark { MARK_SHOWN, MARK_HIDDEN, MARK_FIRST };

/* Search state of a view. */
struct cursor {
    uint32_t node;
    size_t n;
    size_t n_skipped;
    size_t starts[MASKER_HEAD_BYTES]; /* text offsets of the view's last bytes */
    uint32_t *tails;                  /* indices of the tails that match so far */
    size_t n_tails;
    size_t tail_at;
    size_t end; /* text offset after the last byte seen */
};

struct masking {
    struct masker *masker;
    struct cursor cursors[VIEW_N];
    struct strbuf held;
    struct strbuf marks; /* one enum mark per byte of held */
    size_t base;         /* text offset of held */
    size_t at;           /* number of bytes read */
    char escape[MASK_ESCAPE_MAX_BYTES];
    size_t n_escape;
    char percent[MASK_PERCENT_BYTES];
    size_t n_percent;
    size_t n_to_hide; /* bytes to come that are the end of a value that was cut */
    bool was_hidden;  /* the last byte of output */
};

/* A byte of a view, and the range of text that it was decoded from. */
struct seen {
    unsigned char byte;
    size_t start;
    size_t end;
};

struct masker *masker_new(void)
{
    struct masker *masker = NEW(struct masker);

    mask_forms_begin(&masker->forms);
    /* A mark in text that is already masked is one match: no value is found inside it. */
    mask_forms_add_plain(&masker->forms, MASKER_HIDDEN, strlen(MASKER_HIDDEN));
    return masker;
}

void masker_free(struct masker *masker)
{
    if (masker == NULL)
        return;
    mask_forms_done(&masker->forms);
    mem_free(masker);
}

void masker_add(struct masker *masker, const char *value)
{
    size_t head = strspn(value, " \t\r\n");
    size_t len = strlen(value);

    if (!secret_is_masked(value))
        return;
    while (strchr(" \t\r\n", value[len - 1]) != NULL)
        len--;
    mask_forms_add(&masker->forms, value + head, len - head);
}

struct masking *masking_new(struct masker *masker)
{
    struct masking *masking = NEW(struct masking);

    mask_forms_link(&masker->forms);
    masking->masker = masker;
    masking->held = (struct strbuf)STRBUF_INIT;
    masking->marks = (struct strbuf)STRBUF_INIT;
    return masking;
}

void masking_free(struct masking *masking)
{
    if (masking == NULL)
        return;
    for (size_t view = 0; view < VIEW_N; view++)
        mem_free(masking->cursors[view].tails);
    explicit_bzero(masking->held.text, masking->held.len);
    strbuf_done(&masking->held);
    strbuf_done(&masking->marks);
    mem_free(masking);
}

/* --- marks --- */

static void mark(struct masking *masking, size_t start, size_t end)
{
    size_t from = start > masking->base ? start - masking->base : 0;
    size_t to = end - masking->base;

    if (masking->marks.text[from] == MARK_SHOWN)
        masking->marks.text[from] = MARK_FIRST;
    if (to > from + 1)
        memset(masking->marks.text + from + 1, MARK_HIDDEN, to - from - 1);
}

/* Hides the text after the head of a long value as far as it matches the value. */
static void go_on_with_tails(struct masking *masking, struct cursor *cursor,
                             const struct seen *seen)
{
    const struct mask_forms *forms = &masking->masker->forms;
    size_t from = 0;
    size_t n = 0;
    bool is_part = false;

    for (size_t i = 0; i < cursor->n_tails; i++) {
        const struct secret *bytes = &forms->tails[cursor->tails[i]].bytes;

        if ((unsigned char)secret_reveal(bytes)[cursor->tail_at] != seen->byte)
            continue;
        is_part = true;
        if (cursor->tail_at + 1 < bytes->len)
            cursor->tails[n++] = cursor->tails[i];
    }
    cursor->n_tails = n;
    cursor->tail_at++;
    from = cursor->end > masking->base ? cursor->end : masking->base;
    if (is_part)
        memset(masking->marks.text + (from - masking->base), MARK_HIDDEN, seen->end - from);
}

static void begin_tails(const struct mask_forms *forms, struct cursor *cursor, unsigned view)
{
    size_t n = 0;

    for (uint32_t at = forms->nodes[cursor->node].tails; at != 0; at = forms->tails[at - 1].next)
        n++;
    cursor->tails = mem_resize(cursor->tails, n * sizeof(*cursor->tails));
    cursor->tail_at = 0;
    for (uint32_t at = forms->nodes[cursor->node].tails; at != 0; at = forms->tails[at - 1].next) {
        if ((forms->tails[at - 1].views & (1U << view)) != 0)
            cursor->tails[cursor->n_tails++] = at - 1;
    }
}

/* --- views --- */

static void advance_view(struct masking *masking, unsigned view, const struct seen *seen)
{
    struct cursor *cursor = &masking->cursors[view];
    const struct mask_forms *forms = &masking->masker->forms;
    size_t len = 0;

    cursor->starts[cursor->n++ % MASKER_HEAD_BYTES] = seen->start;
    cursor->node = mask_forms_next(forms, cursor->node, seen->byte);
    cursor->n_skipped = 0;
    if (cursor->n_tails > 0)
        go_on_with_tails(masking, cursor, seen);
    cursor->end = seen->end;
    if (cursor->node == 0)
        return;
    len = forms->nodes[cursor->node].len[view];
    if (len > 0)
        mark(masking, cursor->starts[(cursor->n - len) % MASKER_HEAD_BYTES], seen->end);
    if (cursor->n_tails == 0 && forms->nodes[cursor->node].tails != 0)
        begin_tails(forms, cursor, view);
}

/* Skips a byte that the view leaves out; too many in a row end a match. */
static void skip(struct cursor *cursor)
{
    if (++cursor->n_skipped <= SKIPPED_MAX)
        return;
    cursor->node = 0;
    cursor->n_tails = 0;
}

static void see_unwrapped(struct masking *masking, unsigned char byte)
{
    const struct seen seen = {byte, masking->at, masking->at + 1};

    if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == ':')
        skip(&masking->cursors[VIEW_UNWRAPPED]);
    else
        advance_view(masking, VIEW_UNWRAPPED, &seen);
}

/* Decodes as much of the pending bytes as is complete; returns the number left. */
static size_t see_meanings(struct masking *masking, unsigned view, char *pending, size_t n,
                           mask_decode *meaning_of)
{
    while (n > 0) {
        struct mask_decoded meaning = meaning_of(pending, n);
        size_t start = masking->at + 1 - n;
        struct seen seen = {0, start, start + meaning.n_read};

        if (meaning.n_read == 0)
            return n;
        if (meaning.n == 0)
            skip(&masking->cursors[view]);
        for (size_t i = 0; i < meaning.n; i++) {
            seen.byte = (unsigned char)meaning.bytes[i];
            advance_view(masking, view, &seen);
        }
        n -= meaning.n_read;
        memmove(pending, pending + meaning.n_read, n);
    }
    return 0;
}

/* True for a byte that is the same in all views and neither continues nor begins a form. */
static bool is_plain(const struct masking *masking, unsigned char byte)
{
    for (size_t view = 0; view < VIEW_N; view++) {
        if (masking->cursors[view].node != 0 || masking->cursors[view].n_tails != 0)
            return false;
    }
    return masking->n_escape == 0 && masking->n_percent == 0 &&
           masking->masker->forms.first[byte] == 0 && byte != '\\' && byte != '%' && byte != '+';
}

static void read_byte(struct masking *masking, char byte)
{
    const struct seen seen = {(unsigned char)byte, masking->at, masking->at + 1};

    if (is_plain(masking, seen.byte)) {
        masking->at++;
        return;
    }
    advance_view(masking, VIEW_PLAIN, &seen);
    see_unwrapped(masking, seen.byte);
    masking->percent[masking->n_percent++] = byte;
    masking->n_percent = see_meanings(masking, VIEW_PERCENT, masking->percent, masking->n_percent,
                                      mask_decode_percent);
    masking->escape[masking->n_escape++] = byte;
    masking->n_escape =
        see_meanings(masking, VIEW_ESCAPED, masking->escape, masking->n_escape, mask_decode_escape);
    masking->at++;
}

/* --- what comes out --- */

/* Returns the text offset before which no match can begin any more. */
static size_t settled_end(const struct masking *masking)
{
    size_t n_pending =
        masking->n_escape > masking->n_percent ? masking->n_escape : masking->n_percent;
    size_t end = masking->at - n_pending;

    for (size_t view = 0; view < VIEW_N; view++) {
        const struct cursor *cursor = &masking->cursors[view];
        size_t depth = masking->masker->forms.nodes[cursor->node].depth;
        size_t start = cursor->starts[(cursor->n - depth) % MASKER_HEAD_BYTES];

        if (depth > 0 && start < end)
            end = start;
    }
    return end;
}

static void put_out(struct masking *masking, size_t end, struct strbuf *out)
{
    size_t n = end - masking->base;
    const char *text = masking->held.text;
    const char *marks = masking->marks.text;

    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && marks[i] == MARK_SHOWN)
            i++;
        strbuf_append_bytes(out, text + from, i - from);
        for (; i < n && marks[i] != MARK_SHOWN; i++) {
            if (marks[i] == MARK_FIRST)
                strbuf_append(out, MASKER_HIDDEN);
        }
    }
    if (n > 0)
        masking->was_hidden = marks[n - 1] != MARK_SHOWN;
    strbuf_remove_head(&masking->held, n);
    strbuf_remove_head(&masking->marks, n);
    masking->base = end;
}

static void read_block(struct masking *masking, const char *bytes, size_t len)
{
    static const char none_marked[BLOCK_BYTES] = {MARK_SHOWN};
    size_t first = masking->held.len;

    strbuf_append_bytes(&masking->held, bytes, len);
    strbuf_append_bytes(&masking->marks, none_marked, len);
    for (size_t i = first; i < first + len; i++) {
        bool is_after_hidden =
            i > 0 ? masking->marks.text[i - 1] != MARK_SHOWN : masking->was_hidden;

        if (masking->n_to_hide > 0) {
            masking->n_to_hide--;
            masking->marks.text[i] = is_after_hidden ? MARK_HIDDEN : MARK_FIRST;
        }
        /* Continuation bytes of a character whose first byte is hidden would be invalid UTF-8. */
        if (((unsigned char)bytes[i - first] & 0xC0) == 0x80 && is_after_hidden)
            masking->marks.text[i] = MARK_HIDDEN;
        read_byte(masking, bytes[i - first]);
    }
}

void masking_feed(struct masking *masking, const char *bytes, size_t len, struct strbuf *out)
{
    for (size_t from = 0; from < len; from += BLOCK_BYTES) {
        read_block(masking, bytes + from, len - from < BLOCK_BYTES ? len - from : BLOCK_BYTES);
        put_out(masking, settled_end(masking), out);
    }
}

void masking_finish(struct masking *masking, struct strbuf *out)
{
    put_out(masking, masking->at, out);
    masking->n_escape = 0;
    masking->n_percent = 0;
    masking->was_hidden = false;
    for (size_t view = 0; view < VIEW_N; view++) {
        masking->cursors[view].node = 0;
        masking->cursors[view].n_tails = 0;
    }
}

/* Returns the offset of a possible beginning of a value at the text's end, or the end if none. */
static size_t begun_from(const struct masking *masking)
{
    size_t from = masking->at;

    for (size_t view = 0; view < VIEW_N; view++) {
        const struct cursor *cursor = &masking->cursors[view];
        size_t depth = masking->masker->forms.nodes[cursor->node].depth;
        size_t start = cursor->starts[(cursor->n - depth) % MASKER_HEAD_BYTES];

        if (depth >= MASK_PART_MIN_BYTES && start < from)
            from = start;
    }
    return from;
}

/* As masking_finish(), for a text that breaks off: the beginning of a value is hidden, too. */
static void finish_broken(struct masking *masking, struct strbuf *out)
{
    size_t from = begun_from(masking);
    bool is_begun = from < masking->at;

    put_out(masking, from, out);
    if (is_begun && !masking->was_hidden)
        strbuf_append(out, MASKER_HIDDEN);
    strbuf_remove_head(&masking->held, masking->held.len);
    strbuf_remove_head(&masking->marks, masking->marks.len);
    masking->base = masking->at;
    masking_finish(masking, out);
}

void masker_append(struct masker *masker, const char *text, size_t len, struct strbuf *out)
{
    struct masking *masking = masking_new(masker);
    const char *end = text + len;
    const char *omission = mask_omission_find(text, len);

    for (int n = 0; omission != NULL && n < OMISSIONS_MAX; n++) {
        masking_feed(masking, text, (size_t)(omission - text), out);
        finish_broken(masking, out);
        text = mask_omission_end(omission, (size_t)(end - omission));
        masking_feed(masking, omission, (size_t)(text - omission), out);
        masking_finish(masking, out);
        masking->n_to_hide = mask_omission_tail_bytes(&masker->forms, text, (size_t)(end - text));
        omission = mask_omission_find(text, (size_t)(end - text));
    }
    masking_feed(masking, text, (size_t)(end - text), out);
    masking_finish(masking, out);
    masking_free(masking);
}
