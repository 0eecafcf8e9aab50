#include "base/log.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { CONTEXT_FIELDS = 4, CONTEXT_NAME_BYTES = 24, CONTEXT_VALUE_BYTES = 64 };

struct context_field {
    char name[CONTEXT_NAME_BYTES];
    char value[CONTEXT_VALUE_BYTES];
};

static const char *const level_names[] = {"debug", "info", "warning", "error"};

/* The one exception to "no mutable globals": every thread of the process writes here. */
struct log_options {
    const char *process;
    enum log_level lowest;
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): set once in main() */
static struct log_options setup = {"deft", LOG_LEVEL_INFO};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): per thread */
static _Thread_local struct context_field context[CONTEXT_FIELDS];

struct field_mask {
    log_mask *append; /* NULL: no mask */
    const void *owner;
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): per thread */
static _Thread_local struct field_mask field_mask;

enum { WAITING_MAX_BYTES = 16384 };

enum urgency { WRITE_NOW, WRITE_LATER };

/* Lines buffered by log_write_later(). */
struct waiting_lines {
    struct lock lock; /* guards lines; never held over I/O */
    struct strbuf lines;
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as above */
static struct waiting_lines waiting = {{PTHREAD_MUTEX_INITIALIZER}, STRBUF_INIT};

void log_setup(const char *process, enum log_level lowest)
{
    setup.process = process;
    setup.lowest = lowest;
}

int log_level_parse(const char *text, enum log_level *level_out, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
        if (text_equal_nocase(text, level_names[i])) {
            *level_out = (enum log_level)i;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "'%.20s' is not debug, info, warning or error", text);
}

static struct context_field *find_context(const char *name)
{
    struct context_field *empty = NULL;

    for (size_t i = 0; i < CONTEXT_FIELDS; i++) {
        if (text_equal(context[i].name, name))
            return &context[i];
        if (empty == NULL && context[i].name[0] == '\0')
            empty = &context[i];
    }
    return empty;
}

void log_context_set(const char *name, const char *value)
{
    struct context_field *field = find_context(name);

    if (field == NULL)
        return;
    *field = (struct context_field){0};
    if (value == NULL)
        return;
    memcpy(field->name, name, strnlen(name, CONTEXT_NAME_BYTES - 1));
    memcpy(field->value, value, strnlen(value, CONTEXT_VALUE_BYTES - 1));
}

void log_mask_set(log_mask *mask, const void *owner)
{
    field_mask = (struct field_mask){mask, owner};
}

static void append_quoted(struct strbuf *line, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf clean = STRBUF_INIT;

    utf8_append_repaired(&clean, text, strlen(text));
    strbuf_append_char(line, '"');
    for (const char *at = clean.text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            strbuf_append_char(line, '\\');
        if ((unsigned char)*at < 0x20)
            strbuf_appendf(line, "\\u%04x", (unsigned)*at);
        else
            strbuf_append_char(line, *at);
    }
    strbuf_append_char(line, '"');
}

static void append_text_field(struct strbuf *line, const char *name, const char *value)
{
    strbuf_append_char(line, ',');
    append_quoted(line, name);
    strbuf_append_char(line, ':');
    if (value == NULL)
        strbuf_append(line, "null");
    else
        append_quoted(line, value);
}

static void append_masked_field(struct strbuf *line, const struct log_field *field)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    if (field_mask.append == NULL || field->text == NULL) {
        append_text_field(line, field->name, field->text);
        return;
    }
    field_mask.append(field_mask.owner, field->text, &masked);
    append_text_field(line, field->name, masked.text);
}

static void append_field(struct strbuf *line, const struct log_field *field)
{
    switch (field->kind) {
    case LOG_FIELD_TEXT:
        append_masked_field(line, field);
        break;
    case LOG_FIELD_INT:
        strbuf_appendf(line, ",\"%s\":%lld", field->name, (long long)field->number);
        break;
    case LOG_FIELD_DOUBLE:
        strbuf_appendf(line, ",\"%s\":%.6g", field->name, isfinite(field->real) ? field->real : 0);
        break;
    case LOG_FIELD_END:
        break;
    }
}

/* Appends the line to the buffer, and writes it out when it is full or the line is urgent. */
static void emit(const struct strbuf *line, enum urgency urgency)
{
    struct strbuf ready = STRBUF_INIT;
    ssize_t written = 0;

    lock_take(&waiting.lock);
    strbuf_append_bytes(&waiting.lines, line->text, line->len);
    if (urgency == WRITE_NOW || waiting.lines.len >= WAITING_MAX_BYTES) {
        ready = waiting.lines;
        waiting.lines = (struct strbuf)STRBUF_INIT;
    }
    lock_release(&waiting.lock);
    if (ready.len > 0)
        written = write(STDERR_FILENO, ready.text, ready.len);
    (void)written; /* a full log disk must not stop the work */
    strbuf_done(&ready);
}

static void append_line(struct strbuf *line, enum log_level level, const char *name,
                        const struct log_field *fields)
{
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_z(clock_utc_us(), stamp);
    strbuf_appendf(
        line, "{\"timestamp\":\"%s\",\"severity\":\"%s\",\"process\":\"%s\",\"message\":", stamp,
        level_names[level], setup.process);
    append_quoted(line, name);
    for (size_t i = 0; i < CONTEXT_FIELDS; i++) {
        if (context[i].name[0] != '\0')
            append_text_field(line, context[i].name, context[i].value);
    }
    for (const struct log_field *field = fields; field->name != NULL; field++)
        append_field(line, field);
    strbuf_append(line, "}\n");
}

void log_write(enum log_level level, const char *name, const struct log_field *fields)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    if (level < setup.lowest)
        return;
    append_line(&line, level, name, fields);
    emit(&line, WRITE_NOW);
}

void log_write_later(enum log_level level, const char *name, const struct log_field *fields)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    if (level < setup.lowest)
        return;
    append_line(&line, level, name, fields);
    emit(&line, WRITE_LATER);
}

void log_flush(void)
{
    static const struct strbuf nothing = STRBUF_INIT;

    emit(&nothing, WRITE_NOW);
}
