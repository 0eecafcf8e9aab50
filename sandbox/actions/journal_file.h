/*
 * The lines of the journal on disk: each is eight hex digits of CRC-32, a space, a JSON object and
 * a newline. An incomplete line ends the journal.
 *
 * Ownership: struct journal_file owns its descriptor.
 */
#ifndef DEFT_SANDBOX_ACTIONS_JOURNAL_FILE_H
#define DEFT_SANDBOX_ACTIONS_JOURNAL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

struct journal_file {
    int fd; /* -1: memory only */
    char *dir;
    int64_t size; /* offset of the next line */
};

/* Called for each complete line, in order. */
struct journal_reader {
    void *owner;
    void (*line)(void *owner, json_t *record, int64_t offset, size_t len);
};

/* Opens or creates the file, reads all its lines, cuts off a torn tail. */
int journal_file_open(struct journal_file *file, const char *dir,
                      const struct journal_reader *reader, struct error *err) NONNULL MUST_CHECK;
void journal_file_close(struct journal_file *file) NONNULL;
/* Appends a record as a line, with its newline. */
void journal_line_append(struct strbuf *line, const json_t *record) NONNULL;
/* Parses a line (without its newline); ERROR_INVALID when it is torn. */
int journal_line_parse(const char *line, size_t len, json_t **record_out,
                       struct error *err) NONNULL MUST_CHECK;

enum journal_sync { JOURNAL_SYNC, JOURNAL_NO_SYNC };

/* Appends a line; a failed write leaves the file unchanged. */
int journal_file_append(struct journal_file *file, const struct strbuf *line,
                        enum journal_sync sync, struct error *err) NONNULL MUST_CHECK;
/* Appends the bytes at offset to *line. */
int journal_file_read(const struct journal_file *file, int64_t offset, size_t len,
                      struct strbuf *line, struct error *err) NONNULL MUST_CHECK;
/* Replaces the whole file by `text`, atomically. */
int journal_file_replace(struct journal_file *file, const struct strbuf *text,
                         struct error *err) NONNULL MUST_CHECK;

#endif
