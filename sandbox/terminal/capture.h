/*
 * What a terminal printed, as text for a reader: control sequences that ask the terminal something
 * are dropped (colours stay), CRLF becomes LF, what a carriage return overwrites is gone, bytes
 * that are no UTF-8 are replaced, passwords are hidden, and of long output the head and the tail
 * are kept. A plain capture has no control sequences at all.
 *
 * Memory is bounded by MAX_OUTPUT_CHARS whatever is printed.
 * Threading: one thread at a time.
 */
#ifndef DEFT_SANDBOX_TERMINAL_CAPTURE_H
#define DEFT_SANDBOX_TERMINAL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct credentials;
struct spill;

enum capture_state {
    CAPTURE_TEXT,
    CAPTURE_ESCAPE,
    CAPTURE_CSI,    /* ESC [ … final byte */
    CAPTURE_STRING, /* ESC ] or ESC P … BEL or ESC \ */
    CAPTURE_STRING_ESCAPE,
};

struct capture {
    bool is_plain;
    const struct credentials *credentials; /* whose passwords are hidden; NULL: none */
    enum capture_state state;
    char marker[64];        /* payload of the OSC sequence that marks a prompt */
    struct strbuf sequence; /* the control sequence being read */
    struct strbuf line;     /* the line being printed */
    struct strbuf under;    /* what a carriage return has begun to overwrite */
    bool is_under_styled;   /* that has control sequences */
    bool returned;          /* the last character was a carriage return */
    struct strbuf head;     /* the first MAX_OUTPUT_CHARS */
    size_t head_chars;
    struct strbuf tail; /* the last ones behind the head */
    size_t tail_chars;
    size_t cut_chars;     /* dropped between head and tail */
    const char *save_dir; /* of whole output that is too long; NULL, "": it is saved nowhere */
    struct spill *spill;  /* such output, or NULL */
    bool is_unsaved;      /* it could not be saved */
    bool was_saved;       /* what was taken last */
};

void capture_init(struct capture *capture) NONNULL;
void capture_done(struct capture *capture);
/* Sets the marker that capture_feed() looks for: an OSC payload of less than 64 bytes. */
void capture_set_marker(struct capture *capture, const char *payload) NONNULL;
/*
 * Takes bytes up to and with the next marker; *marker_out says whether there was one. Returns how
 * many bytes it took; without a marker that is all of them.
 */
size_t capture_feed(struct capture *capture, const char *bytes, size_t len,
                    bool *marker_out) NONNULL MUST_CHECK;
/*
 * A number that another one follows whenever readable text was captured: control sequences, such as
 * those that a line editor sends with its prompt, leave it as it is.
 */
size_t capture_extent(const struct capture *capture) NONNULL MUST_CHECK;
/* True when nothing readable was captured. */
bool capture_is_empty(const struct capture *capture) NONNULL MUST_CHECK;
/* Appends the text, at most MAX_OUTPUT_CHARS, without trailing white space; forgets it. Text in the
 * place of what is left out names the file that has all of it. */
void capture_take(struct capture *capture, struct strbuf *out) NONNULL;

#endif
