#include "sandbox/terminal/capture.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/limits.h"
#include "sandbox/git/credentials.h"
#include "sandbox/terminal/spill.h"

enum {
    SEQUENCE_MAX_BYTES = 4096,
    LINE_MAX_BYTES = 32 * 1024,
    TAIL_CHARS = MAX_OUTPUT_CHARS,
    ESC = 0x1B,
    BEL = 0x07,
    BACKSPACE = 0x08,
};

static const char clipped_notice[] =
    "<response clipped><NOTE>The middle of the output was left out because it is too long. Send "
    "long output to a file and look at the parts you need with grep, head, tail or sed.</NOTE>";

static const char plain_notice[] = "\n[... Observation truncated due to length ...]\n";

void capture_init(struct capture *capture)
{
    *capture = (struct capture){.sequence = STRBUF_INIT,
                                .line = STRBUF_INIT,
                                .under = STRBUF_INIT,
                                .head = STRBUF_INIT,
                                .tail = STRBUF_INIT};
}

void capture_done(struct capture *capture)
{
    if (capture == NULL)
        return;
    strbuf_done(&capture->sequence);
    strbuf_done(&capture->line);
    strbuf_done(&capture->under);
    strbuf_done(&capture->head);
    strbuf_done(&capture->tail);
    spill_free(capture->spill);
}

void capture_set_marker(struct capture *capture, const char *payload)
{
    assert(strlen(payload) < sizeof(capture->marker));
    memcpy(capture->marker, payload, strlen(payload) + 1);
}

size_t capture_extent(const struct capture *capture)
{
    return capture->head_chars + capture->cut_chars + capture->tail_chars + capture->line.len;
}

bool capture_is_empty(const struct capture *capture)
{
    return capture->head.len == 0 && text_is_blank(capture->line.text);
}

static void trim_tail(struct capture *capture)
{
    size_t excess = 0;

    if (capture->tail_chars <= 2 * (size_t)TAIL_CHARS)
        return;
    excess = capture->tail_chars - TAIL_CHARS;
    strbuf_remove_head(&capture->tail, utf8_offset(capture->tail.text, capture->tail.len, excess));
    capture->tail_chars = TAIL_CHARS;
    capture->cut_chars += excess;
}

/* Saves text that exceeds the head, starting with the head itself. */
static void save(struct capture *capture, const char *text, size_t len)
{
    if (capture->save_dir == NULL || capture->save_dir[0] == '\0' || capture->is_unsaved)
        return;
    if (capture->spill == NULL) {
        capture->spill = spill_begin(capture->save_dir);
        capture->is_unsaved = capture->spill == NULL;
        if (capture->is_unsaved)
            return;
        spill_write(capture->spill, capture->head.text, capture->head.len);
    }
    spill_write(capture->spill, text, len);
}

/* Appends clean text to the head, or to the tail once the head is full. */
static void keep(struct capture *capture, const char *text, size_t len)
{
    size_t room = MAX_OUTPUT_CHARS - capture->head_chars;
    size_t head_len = room > 0 ? utf8_offset(text, len, room) : 0;

    if (head_len > 0) {
        strbuf_append_bytes(&capture->head, text, head_len);
        capture->head_chars += utf8_length(text, head_len);
    }
    if (head_len < len) {
        save(capture, text + head_len, len - head_len);
        strbuf_append_bytes(&capture->tail, text + head_len, len - head_len);
        capture->tail_chars += utf8_length(text + head_len, len - head_len);
        trim_tail(capture);
    }
}

/* Number of bytes of the overwritten text that the line covers. */
static size_t covered_length(const struct capture *capture)
{
    return utf8_offset(capture->under.text, capture->under.len,
                       utf8_length(capture->line.text, capture->line.len));
}

/* After a shorter line, the rest of the text before the carriage return is still visible. */
static void merge_overwritten(struct capture *capture)
{
    struct strbuf *line = &capture->line;
    const struct strbuf *under = &capture->under;

    if (under->len == 0)
        return;
    if (!capture->is_under_styled && memchr(line->text, ESC, line->len) == NULL) {
        size_t covered = covered_length(capture);

        strbuf_append_bytes(line, under->text + covered, under->len - covered);
    }
    strbuf_reset(&capture->under);
}

/* Masks before anything is cut: a partial password would not be masked. */
static void keep_shown(struct capture *capture, const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;

    if (capture->credentials == NULL || credentials_longest(capture->credentials) == 0) {
        keep(capture, text, len);
        return;
    }
    credentials_mask_append(capture->credentials, text, len, &shown);
    keep(capture, shown.text, shown.len);
}

static void flush_line(struct capture *capture, size_t len)
{
    struct strbuf *line = &capture->line;

    if (utf8_is_valid(line->text, len) && memchr(line->text, '\0', len) == NULL) {
        keep_shown(capture, line->text, len);
    } else {
        CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

        utf8_append_repaired(&repaired, line->text, len);
        keep_shown(capture, repaired.text, repaired.len);
    }
    strbuf_remove_head(line, len);
}

/* Masks the unfinished line. Returns how many of its last bytes may begin a password. */
static size_t hide_passwords(struct capture *capture)
{
    struct strbuf *line = &capture->line;
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    size_t longest = capture->credentials != NULL ? credentials_longest(capture->credentials) : 0;

    if (longest == 0)
        return 0;
    credentials_mask_append(capture->credentials, line->text, line->len, &shown);
    strbuf_reset(line);
    strbuf_append_bytes(line, shown.text, shown.len);
    return longest < line->len ? longest : 0;
}

/* Length without an incomplete last character. RFC 3629, section 3. */
static size_t whole_length(const char *text, size_t len)
{
    size_t at = len;
    size_t n_more = 0;
    unsigned char first = 0;

    while (at > 0 && n_more < 3 && ((unsigned char)text[at - 1] & 0xC0U) == 0x80U) {
        at--;
        n_more++;
    }
    if (at == 0)
        return len;
    first = (unsigned char)text[at - 1];
    if ((first >= 0xF0 && n_more < 3) || (first >= 0xE0 && n_more < 2) ||
        (first >= 0xC0 && n_more < 1))
        return at - 1;
    return len;
}

/* Flushes a very long line in pieces without splitting a character. */
static void flush_long_line(struct capture *capture)
{
    struct strbuf *line = &capture->line;
    size_t begun = 0;

    if (line->len < LINE_MAX_BYTES)
        return;
    begun = hide_passwords(capture);
    strbuf_reset(&capture->under);
    flush_line(capture, whole_length(line->text, line->len - begun));
}

static void end_line(struct capture *capture)
{
    merge_overwritten(capture);
    strbuf_append_char(&capture->line, '\n');
    flush_line(capture, capture->line.len);
}

static void begin_overwrite(struct capture *capture)
{
    struct strbuf *line = &capture->line;
    struct strbuf old = capture->under;
    bool is_styled = memchr(line->text, ESC, line->len) != NULL;

    /* Fast path: a program may overwrite a long line with a few characters, again and again. */
    if (old.len > 0 && !is_styled && !capture->is_under_styled &&
        covered_length(capture) == line->len) {
        memcpy(old.text, line->text, line->len);
        strbuf_reset(line);
        return;
    }
    merge_overwritten(capture);
    old = capture->under;
    capture->under = *line;
    capture->is_under_styled = is_styled;
    *line = old;
    strbuf_reset(line);
}

static void rub_out(struct capture *capture)
{
    struct strbuf *line = &capture->line;
    size_t len = line->len;

    while (len > 0 && ((unsigned char)line->text[len - 1] & 0xC0U) == 0x80U)
        len--;
    strbuf_truncate(line, len > 0 ? len - 1 : 0);
}

static void take_control(struct capture *capture, char c)
{
    switch (c) {
    case '\n':
        end_line(capture);
        break;
    case BACKSPACE:
        rub_out(capture);
        break;
    case ESC:
        capture->state = CAPTURE_ESCAPE;
        strbuf_reset(&capture->sequence);
        strbuf_append_char(&capture->sequence, c);
        break;
    case '\t':
        strbuf_append_char(&capture->line, c);
        break;
    default: /* bells, NULs and the like print nothing */
        break;
    }
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20;
}

static size_t take_text(struct capture *capture, const char *bytes, size_t len)
{
    size_t n = 0;

    if (bytes[0] == '\r') {
        capture->returned = true;
        return 1;
    }
    if (capture->returned && bytes[0] != '\n')
        begin_overwrite(capture);
    capture->returned = false;
    if (is_control(bytes[0])) {
        take_control(capture, bytes[0]);
        return 1;
    }
    while (n < len && !is_control(bytes[n]))
        n++;
    if (n > LINE_MAX_BYTES)
        n = LINE_MAX_BYTES;
    strbuf_append_bytes(&capture->line, bytes, n);
    flush_long_line(capture);
    return n;
}

/* Reports (n), attributes (c), modes (h, l, p), versions (q) and window data (t) print nothing. */
static bool is_silent_csi(const struct strbuf *sequence)
{
    char final = sequence->text[sequence->len - 1];
    bool is_private = strchr("?>=", sequence->text[2]) != NULL;

    if (final == 'n' || final == 'c' || final == 't')
        return true;
    return (is_private && strchr("hlpqu", final) != NULL) || (final == 'p' || final == 'q');
}

static void end_sequence(struct capture *capture, bool keep_it)
{
    if (keep_it && !capture->is_plain)
        strbuf_append_bytes(&capture->line, capture->sequence.text, capture->sequence.len);
    strbuf_reset(&capture->sequence);
    capture->state = CAPTURE_TEXT;
}

static bool string_is_marker(const struct capture *capture)
{
    const char *payload = capture->sequence.text + 2;

    return capture->marker[0] != '\0' && capture->sequence.text[1] == ']' &&
           text_equal(payload, capture->marker);
}

static void take_escape(struct capture *capture, char c)
{
    strbuf_append_char(&capture->sequence, c);
    if (c == '[')
        capture->state = CAPTURE_CSI;
    else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X')
        capture->state = CAPTURE_STRING;
    else if (c < 0x20 || c > 0x2F) /* ESC ( B and the like have intermediate bytes */
        end_sequence(capture, false);
}

/* Takes one byte of a control sequence; true when it completed the marker. ECMA-48, section 5.4. */
static bool take_sequence(struct capture *capture, char c)
{
    bool is_marker = false;

    if (capture->state == CAPTURE_ESCAPE) {
        take_escape(capture, c);
        return false;
    }
    if (capture->state == CAPTURE_CSI) {
        strbuf_append_char(&capture->sequence, c);
        if (c >= 0x40 && c <= 0x7E)
            end_sequence(capture, !is_silent_csi(&capture->sequence));
        else if ((unsigned char)c < 0x20)
            end_sequence(capture, false);
        return false;
    }
    if (c == ESC) {
        capture->state = CAPTURE_STRING_ESCAPE;
        return false;
    }
    if (c == BEL || (capture->state == CAPTURE_STRING_ESCAPE && c == '\\')) {
        is_marker = string_is_marker(capture);
        end_sequence(capture, false);
        return is_marker;
    }
    capture->state = CAPTURE_STRING;
    strbuf_append_char(&capture->sequence, c);
    return false;
}

size_t capture_feed(struct capture *capture, const char *bytes, size_t len, bool *marker_out)
{
    size_t used = 0;

    *marker_out = false;
    while (used < len) {
        if (capture->state == CAPTURE_TEXT) {
            used += take_text(capture, bytes + used, len - used);
            continue;
        }
        if (take_sequence(capture, bytes[used++])) {
            *marker_out = true;
            return used;
        }
        /* A binary file may open a string that never ends. */
        if (capture->sequence.len > SEQUENCE_MAX_BYTES)
            end_sequence(capture, false);
    }
    return used;
}

/* Returns the number of characters removed. */
static size_t strip_trailing_space(struct strbuf *out, size_t start)
{
    size_t len = out->len;
    size_t before = len;

    while (len > start && strchr(" \t\n\v\f\r", out->text[len - 1]) != NULL)
        len--;
    strbuf_truncate(out, len);
    return before - len;
}

static void append_last_chars(struct strbuf *out, const struct strbuf *text, size_t n_chars,
                              size_t keep_chars)
{
    size_t skip = n_chars > keep_chars ? n_chars - keep_chars : 0;
    size_t start = utf8_offset(text->text, text->len, skip);

    strbuf_append_bytes(out, text->text + start, text->len - start);
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;

    for (const char *at = memchr(text, '\n', len); at != NULL;
         at = memchr(at + 1, '\n', len - (size_t)(at + 1 - text)))
        n++;
    return n;
}

/* The notice in place of the omitted middle; names the file if the whole output was saved. */
static void append_notice(const struct capture *capture, const char *path, size_t line,
                          struct strbuf *out)
{
    if (!capture->was_saved)
        strbuf_append(out, capture->is_plain ? plain_notice : clipped_notice);
    else
        strbuf_appendf(out,
                       "<response clipped><NOTE>The middle of the output was left out because it "
                       "is too long. All of it is in %s; what was left out begins in line %zu."
                       "</NOTE>",
                       path, line);
}

static void append_clipped(struct capture *capture, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf notice = STRBUF_INIT;
    size_t head_chars = 0;
    size_t head_len = 0;
    size_t tail_chars = 0;

    if (capture->spill != NULL)
        spill_end(TAKE_PTR(capture->spill), &path);
    capture->was_saved = path.len > 0;
    append_notice(capture, path.text, 0, &notice);
    head_chars = (MAX_OUTPUT_CHARS - utf8_length(notice.text, notice.len) + 1) / 2;
    head_len = utf8_offset(capture->head.text, capture->head.len, head_chars);
    strbuf_reset(&notice);
    append_notice(capture, path.text, count_lines(capture->head.text, head_len) + 1, &notice);
    tail_chars = MAX_OUTPUT_CHARS - head_chars - utf8_length(notice.text, notice.len);
    strbuf_append_bytes(out, capture->head.text, head_len);
    strbuf_append(out, notice.text);
    if (capture->tail_chars < tail_chars)
        append_last_chars(out, &capture->head, capture->head_chars,
                          tail_chars - capture->tail_chars);
    append_last_chars(out, &capture->tail, capture->tail_chars, tail_chars);
}

void capture_take(struct capture *capture, struct strbuf *out)
{
    size_t start = out->len;

    capture->was_saved = false;
    merge_overwritten(capture);
    flush_line(capture, capture->line.len);
    capture->tail_chars -= strip_trailing_space(&capture->tail, 0);
    if (capture->tail_chars + capture->cut_chars == 0)
        strbuf_append_bytes(out, capture->head.text, capture->head.len);
    else
        append_clipped(capture, out);
    (void)strip_trailing_space(out, start);
    strbuf_done(&capture->head);
    strbuf_done(&capture->tail);
    spill_free(capture->spill);
    capture->spill = NULL;
    capture->is_unsaved = false;
    capture->head_chars = 0;
    capture->tail_chars = 0;
    capture->cut_chars = 0;
}
