/*
 * Terminal output as readable text: control sequences that query the terminal are dropped (colors
 * stay), CRLF becomes LF, text overwritten after a carriage return is removed, invalid UTF-8 is
 * replaced, passwords are masked, and of long output the head and the tail are kept. A plain
 * filter keeps no control sequences.
 *
 * Memory is bounded by MAX_OUTPUT_CHARS for any output.
 * Threading: one thread at a time.
 * Decision: docs/decisions/0058-terminal-capture.md
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_FILTER_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct credentials;
struct output_file;

enum filter_state {
    FILTER_TEXT,
    FILTER_ESCAPE,
    FILTER_CSI,    /* ESC [ … final byte */
    FILTER_STRING, /* ESC ] or ESC P … BEL or ESC \ */
    FILTER_STRING_ESCAPE,
};

struct terminal_filter {
    bool is_plain;
    const struct credentials *credentials; /* whose passwords are masked; NULL: none */
    enum filter_state state;
    char marker[64];        /* payload of the OSC sequence that marks a prompt */
    struct strbuf sequence; /* the unfinished control sequence */
    struct strbuf line;     /* the unfinished line */
    struct strbuf under;    /* text being overwritten after a carriage return */
    bool is_under_styled;   /* `under` has control sequences */
    bool returned;          /* the last character was a carriage return */
    struct strbuf head;     /* the first MAX_OUTPUT_CHARS */
    size_t head_chars;
    struct strbuf tail; /* the end of the output after the head */
    size_t tail_chars;
    size_t cut_chars;         /* dropped between head and tail */
    const char *save_dir;     /* for whole output that is too long; NULL, "": not saved */
    struct output_file *file; /* the saved output, or NULL */
    bool is_unsaved;          /* saving it failed */
    bool was_saved;           /* the last output taken was saved */
};

void terminal_filter_init(struct terminal_filter *filter) NONNULL;
void terminal_filter_done(struct terminal_filter *filter);
/* Sets the marker that terminal_filter_feed() looks for: an OSC payload of less than 64 bytes. */
void terminal_filter_set_marker(struct terminal_filter *filter, const char *payload) NONNULL;
/*
 * Consumes bytes up to and including the next marker; *marker_out says whether there was one.
 * Returns the number of bytes consumed; without a marker, all of them.
 */
size_t terminal_filter_feed(struct terminal_filter *filter, const char *bytes, size_t len,
                            bool *marker_out) NONNULL MUST_CHECK;
/*
 * A number that changes whenever readable text was captured: control sequences, such as those that
 * a line editor sends with its prompt, do not change it.
 */
size_t terminal_filter_extent(const struct terminal_filter *filter) NONNULL MUST_CHECK;
/* True when nothing readable was captured. */
bool terminal_filter_is_empty(const struct terminal_filter *filter) NONNULL MUST_CHECK;
/*
 * Appends the text, at most MAX_OUTPUT_CHARS, without trailing white space, and clears it. A notice
 * in place of the omitted part names the file with the whole output.
 */
void terminal_filter_take(struct terminal_filter *filter, struct strbuf *out) NONNULL;

#endif
