#include "sandbox/terminal/terminal_filter.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/git/credentials.h"
#include "sandbox/terminal/output_file.h"

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

void terminal_filter_init(struct terminal_filter *filter)
{
    *filter = (struct terminal_filter){.sequence = STRBUF_INIT,
                                       .line = STRBUF_INIT,
                                       .under = STRBUF_INIT,
                                       .head = STRBUF_INIT,
                                       .tail = STRBUF_INIT};
}

void terminal_filter_done(struct terminal_filter *filter)
{
    if (filter == NULL)
        return;
    strbuf_done(&filter->sequence);
    strbuf_done(&filter->line);
    strbuf_done(&filter->under);
    strbuf_done(&filter->head);
    strbuf_done(&filter->tail);
    output_file_free(filter->file);
}

void terminal_filter_set_marker(struct terminal_filter *filter, const char *payload)
{
    assert(strlen(payload) < sizeof(filter->marker));
    memcpy(filter->marker, payload, strlen(payload) + 1);
}

size_t terminal_filter_extent(const struct terminal_filter *filter)
{
    return filter->head_chars + filter->cut_chars + filter->tail_chars + filter->line.len;
}

bool terminal_filter_is_empty(const struct terminal_filter *filter)
{
    return filter->head.len == 0 && text_is_blank(filter->line.text);
}

static void trim_tail(struct terminal_filter *filter)
{
    size_t excess = 0;

    if (filter->tail_chars <= 2 * (size_t)TAIL_CHARS)
        return;
    excess = filter->tail_chars - TAIL_CHARS;
    strbuf_remove_head(&filter->tail, utf8_offset(filter->tail.text, filter->tail.len, excess));
    filter->tail_chars = TAIL_CHARS;
    filter->cut_chars += excess;
}

/* Saves text that exceeds the head, starting with the head itself. */
static void save(struct terminal_filter *filter, const char *text, size_t len)
{
    if (filter->save_dir == NULL || filter->save_dir[0] == '\0' || filter->is_unsaved)
        return;
    if (filter->file == NULL) {
        filter->file = output_file_begin(filter->save_dir);
        filter->is_unsaved = filter->file == NULL;
        if (filter->is_unsaved)
            return;
        output_file_write(filter->file, filter->head.text, filter->head.len);
    }
    output_file_write(filter->file, text, len);
}

/* Appends clean text to the head, or to the tail once the head is full. */
static void keep_bytes(struct terminal_filter *filter, const char *text, size_t len)
{
    size_t room = MAX_OUTPUT_CHARS - filter->head_chars;
    size_t head_len = room > 0 ? utf8_offset(text, len, room) : 0;

    if (head_len > 0) {
        strbuf_append_bytes(&filter->head, text, head_len);
        filter->head_chars += utf8_length(text, head_len);
    }
    if (head_len < len) {
        save(filter, text + head_len, len - head_len);
        strbuf_append_bytes(&filter->tail, text + head_len, len - head_len);
        filter->tail_chars += utf8_length(text + head_len, len - head_len);
        trim_tail(filter);
    }
}

/* Number of bytes of the overwritten text that the line covers. */
static size_t covered_length(const struct terminal_filter *filter)
{
    return utf8_offset(filter->under.text, filter->under.len,
                       utf8_length(filter->line.text, filter->line.len));
}

/* After a shorter line, the rest of the text before the carriage return is still visible. */
static void merge_overwritten(struct terminal_filter *filter)
{
    struct strbuf *line = &filter->line;
    const struct strbuf *under = &filter->under;

    if (under->len == 0)
        return;
    if (!filter->is_under_styled && memchr(line->text, ESC, line->len) == NULL) {
        size_t covered = covered_length(filter);

        strbuf_append_bytes(line, under->text + covered, under->len - covered);
    }
    strbuf_reset(&filter->under);
}

/* Masks before anything is cut: a partial password would not be masked. */
static void keep_shown(struct terminal_filter *filter, const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;

    if (filter->credentials == NULL || credentials_longest(filter->credentials) == 0) {
        keep_bytes(filter, text, len);
        return;
    }
    credentials_mask_append(filter->credentials, text, len, &shown);
    keep_bytes(filter, shown.text, shown.len);
}

static void flush_line(struct terminal_filter *filter, size_t len)
{
    struct strbuf *line = &filter->line;

    if (utf8_is_valid(line->text, len) && memchr(line->text, '\0', len) == NULL) {
        keep_shown(filter, line->text, len);
    } else {
        CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

        utf8_append_repaired(&repaired, line->text, len);
        keep_shown(filter, repaired.text, repaired.len);
    }
    strbuf_remove_head(line, len);
}

/* Masks the unfinished line. Returns how many of its last bytes may begin a password. */
static size_t hide_passwords(struct terminal_filter *filter)
{
    struct strbuf *line = &filter->line;
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    size_t longest = filter->credentials != NULL ? credentials_longest(filter->credentials) : 0;

    if (longest == 0)
        return 0;
    credentials_mask_append(filter->credentials, line->text, line->len, &shown);
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
static void flush_long_line(struct terminal_filter *filter)
{
    struct strbuf *line = &filter->line;
    size_t begun = 0;

    if (line->len < LINE_MAX_BYTES)
        return;
    begun = hide_passwords(filter);
    strbuf_reset(&filter->under);
    flush_line(filter, whole_length(line->text, line->len - begun));
}

static void end_line(struct terminal_filter *filter)
{
    merge_overwritten(filter);
    strbuf_append_char(&filter->line, '\n');
    flush_line(filter, filter->line.len);
}

static void begin_overwrite(struct terminal_filter *filter)
{
    struct strbuf *line = &filter->line;
    struct strbuf old = filter->under;
    bool is_styled = memchr(line->text, ESC, line->len) != NULL;

    /* Fast path: a program may overwrite a long line with a few characters, again and again. */
    if (old.len > 0 && !is_styled && !filter->is_under_styled &&
        covered_length(filter) == line->len) {
        memcpy(old.text, line->text, line->len);
        strbuf_reset(line);
        return;
    }
    merge_overwritten(filter);
    old = filter->under;
    filter->under = *line;
    filter->is_under_styled = is_styled;
    *line = old;
    strbuf_reset(line);
}

static void rub_out(struct terminal_filter *filter)
{
    struct strbuf *line = &filter->line;
    size_t len = line->len;

    while (len > 0 && ((unsigned char)line->text[len - 1] & 0xC0U) == 0x80U)
        len--;
    strbuf_truncate(line, len > 0 ? len - 1 : 0);
}

static void take_control(struct terminal_filter *filter, char c)
{
    switch (c) {
    case '\n':
        end_line(filter);
        break;
    case BACKSPACE:
        rub_out(filter);
        break;
    case ESC:
        filter->state = FILTER_ESCAPE;
        strbuf_reset(&filter->sequence);
        strbuf_append_char(&filter->sequence, c);
        break;
    case '\t':
        strbuf_append_char(&filter->line, c);
        break;
    default: /* bells, NULs and the like print nothing */
        break;
    }
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20;
}

static size_t take_text(struct terminal_filter *filter, const char *bytes, size_t len)
{
    size_t n = 0;

    if (bytes[0] == '\r') {
        filter->returned = true;
        return 1;
    }
    if (filter->returned && bytes[0] != '\n')
        begin_overwrite(filter);
    filter->returned = false;
    if (is_control(bytes[0])) {
        take_control(filter, bytes[0]);
        return 1;
    }
    while (n < len && !is_control(bytes[n]))
        n++;
    if (n > LINE_MAX_BYTES)
        n = LINE_MAX_BYTES;
    strbuf_append_bytes(&filter->line, bytes, n);
    flush_long_line(filter);
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

static void drop_sequence(struct terminal_filter *filter)
{
    strbuf_reset(&filter->sequence);
    filter->state = FILTER_TEXT;
}

static void end_csi(struct terminal_filter *filter)
{
    if (!filter->is_plain && !is_silent_csi(&filter->sequence))
        strbuf_append_bytes(&filter->line, filter->sequence.text, filter->sequence.len);
    drop_sequence(filter);
}

static bool string_is_marker(const struct terminal_filter *filter)
{
    const char *payload = filter->sequence.text + 2;

    return filter->marker[0] != '\0' && filter->sequence.text[1] == ']' &&
           text_equal(payload, filter->marker);
}

static void take_escape(struct terminal_filter *filter, char c)
{
    strbuf_append_char(&filter->sequence, c);
    if (c == '[')
        filter->state = FILTER_CSI;
    else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X')
        filter->state = FILTER_STRING;
    else if (c < 0x20 || c > 0x2F) /* ESC ( B and the like have intermediate bytes */
        drop_sequence(filter);
}

/* Takes one byte of a control sequence; true when it completed the marker. ECMA-48, section 5.4. */
static bool take_sequence(struct terminal_filter *filter, char c)
{
    bool is_marker = false;

    if (filter->state == FILTER_ESCAPE) {
        take_escape(filter, c);
        return false;
    }
    if (filter->state == FILTER_CSI) {
        strbuf_append_char(&filter->sequence, c);
        if (c >= 0x40 && c <= 0x7E)
            end_csi(filter);
        else if ((unsigned char)c < 0x20)
            drop_sequence(filter);
        return false;
    }
    if (c == ESC) {
        filter->state = FILTER_STRING_ESCAPE;
        return false;
    }
    if (c == BEL || (filter->state == FILTER_STRING_ESCAPE && c == '\\')) {
        is_marker = string_is_marker(filter);
        drop_sequence(filter);
        return is_marker;
    }
    filter->state = FILTER_STRING;
    strbuf_append_char(&filter->sequence, c);
    return false;
}

size_t terminal_filter_feed(struct terminal_filter *filter, const char *bytes, size_t len,
                            bool *marker_out)
{
    size_t used = 0;

    *marker_out = false;
    while (used < len) {
        if (filter->state == FILTER_TEXT) {
            used += take_text(filter, bytes + used, len - used);
            continue;
        }
        if (take_sequence(filter, bytes[used++])) {
            *marker_out = true;
            return used;
        }
        /* A binary file may open a string that never ends. */
        if (filter->sequence.len > SEQUENCE_MAX_BYTES)
            drop_sequence(filter);
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
static void append_notice(const struct terminal_filter *filter, const char *path, size_t line,
                          struct strbuf *out)
{
    if (!filter->was_saved)
        strbuf_append(out, filter->is_plain ? plain_notice : clipped_notice);
    else
        strbuf_appendf(out,
                       "<response clipped><NOTE>The middle of the output was left out because it "
                       "is too long. All of it is in %s; what was left out begins in line %zu."
                       "</NOTE>",
                       path, line);
}

static void append_clipped(struct terminal_filter *filter, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf notice = STRBUF_INIT;
    size_t head_chars = 0;
    size_t head_len = 0;
    size_t tail_chars = 0;

    if (filter->file != NULL)
        output_file_end(TAKE_PTR(filter->file), &path);
    filter->was_saved = path.len > 0;
    append_notice(filter, path.text, 0, &notice);
    head_chars = (MAX_OUTPUT_CHARS - utf8_length(notice.text, notice.len) + 1) / 2;
    head_len = utf8_offset(filter->head.text, filter->head.len, head_chars);
    strbuf_reset(&notice);
    append_notice(filter, path.text, count_lines(filter->head.text, head_len) + 1, &notice);
    tail_chars = MAX_OUTPUT_CHARS - head_chars - utf8_length(notice.text, notice.len);
    strbuf_append_bytes(out, filter->head.text, head_len);
    strbuf_append(out, notice.text);
    if (filter->tail_chars < tail_chars)
        append_last_chars(out, &filter->head, filter->head_chars, tail_chars - filter->tail_chars);
    append_last_chars(out, &filter->tail, filter->tail_chars, tail_chars);
}

void terminal_filter_take(struct terminal_filter *filter, struct strbuf *out)
{
    size_t start = out->len;

    filter->was_saved = false;
    merge_overwritten(filter);
    flush_line(filter, filter->line.len);
    filter->tail_chars -= strip_trailing_space(&filter->tail, 0);
    if (filter->tail_chars + filter->cut_chars == 0)
        strbuf_append_bytes(out, filter->head.text, filter->head.len);
    else
        append_clipped(filter, out);
    (void)strip_trailing_space(out, start);
    strbuf_done(&filter->head);
    strbuf_done(&filter->tail);
    output_file_free(filter->file);
    filter->file = NULL;
    filter->is_unsaved = false;
    filter->head_chars = 0;
    filter->tail_chars = 0;
    filter->cut_chars = 0;
}
