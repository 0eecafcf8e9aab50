/*
 * One line of JSON per event on standard error.
 *
 *     log_info("sandbox.started", LOG_STR("sandbox_id", id), LOG_INT("duration_ms", elapsed_ms));
 *
 * The name is noun.past-verb and keeps its meaning; values are fields. The context of a thread
 * (request, conversation) is added to each of its lines. Never logged: secrets, cookies, prompts,
 * file contents, queries of URLs.
 * Threading: safe from any thread; a line is one write().
 */
#ifndef DEFT_BASE_LOG_H
#define DEFT_BASE_LOG_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

enum log_field_kind { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_INT, LOG_FIELD_DOUBLE };

struct log_field {
    const char *name;
    enum log_field_kind kind;
    const char *text;
    int64_t number;
    double real;
};

#define LOG_STR(field, value)                                                                      \
    ((struct log_field){.name = (field), .kind = LOG_FIELD_TEXT, .text = (value)})
#define LOG_INT(field, value)                                                                      \
    ((struct log_field){.name = (field), .kind = LOG_FIELD_INT, .number = (value)})
#define LOG_DOUBLE(field, value)                                                                   \
    ((struct log_field){.name = (field), .kind = LOG_FIELD_DOUBLE, .real = (value)})

/* An error's code, message and location as three fields. */
#define LOG_ERROR(err)                                                                             \
    LOG_STR("error_code", error_code_to_string((err)->code)), LOG_STR("error", (err)->message),    \
        LOG_STR("where", (err)->where)

#define LOG_AT(level, event, ...)                                                                  \
    log_write(level, event, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.name = NULL}})
#define log_debug(name, ...) LOG_AT(LOG_LEVEL_DEBUG, name __VA_OPT__(, ) __VA_ARGS__)
#define log_info(name, ...) LOG_AT(LOG_LEVEL_INFO, name __VA_OPT__(, ) __VA_ARGS__)
#define log_warning(name, ...) LOG_AT(LOG_LEVEL_WARNING, name __VA_OPT__(, ) __VA_ARGS__)
#define log_error(name, ...) LOG_AT(LOG_LEVEL_ERROR, name __VA_OPT__(, ) __VA_ARGS__)

/* For per-request lines: they may be buffered (log_flush()). */
#define log_access(event, ...)                                                                     \
    log_write_later(LOG_LEVEL_INFO, event,                                                         \
                    (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.name = NULL}})

/*
 * Call once, at start: the process's name ("deft-worker"; borrowed for the process's lifetime) and
 * the lowest level.
 */
void log_setup(const char *process, enum log_level lowest) NONNULL;
/* "debug", "info", "warning", "error" in any case; ERROR_INVALID otherwise. */
int log_level_parse(const char *text, enum log_level *level_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Sets (or, with NULL, removes) this thread's context field: "request_id", "conversation_id". */
void log_context_set(const char *name, const char *value) __attribute__((nonnull(1)));
/* Appends text with its secrets masked. */
typedef void log_mask(const void *owner, const char *text, struct strbuf *out);
/*
 * From now on the text of each field that this thread logs goes through the mask; NULL: no mask.
 * The owner is borrowed until the next call. The mask must not log.
 */
void log_mask_set(log_mask *mask, const void *owner);
/* Writes one line; `fields` ends with an entry without a name. Use the macros. */
void log_write(enum log_level level, const char *name, const struct log_field *fields) NONNULL;

/*
 * As log_write(), but the line may stay in memory until 16 KB are buffered, another line is
 * written, or log_flush() is called: one write per request costs more than one for many. A killed
 * process loses what it had not written.
 */
void log_write_later(enum log_level level, const char *name,
                     const struct log_field *fields) NONNULL;
/* Writes buffered lines. A process that uses log_access() calls it at least once a second. */
void log_flush(void);

#endif
