#include "base/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"

static const char *kind_name(enum setting_kind kind)
{
    switch (kind) {
    case SETTING_TEXT:
        return "text";
    case SETTING_SECRET:
        return "secret";
    case SETTING_COUNT:
        return "count";
    case SETTING_MS:
        return "milliseconds";
    case SETTING_BYTES:
        return "bytes";
    case SETTING_BOOL:
        return "0 or 1";
    }
    return "";
}

static int read_bool(const char *text, int64_t *value_out, struct error *err)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (text_equal_nocase(text, words[i])) {
            *value_out = (int64_t)(i % 2);
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "'%.40s' is neither 0 nor 1", text);
}

static int read_value(const struct setting *setting, const char *text, void *field,
                      struct error *err)
{
    switch (setting->kind) {
    case SETTING_TEXT:
        *(const char **)field = mem_dup_text(text);
        return 0;
    case SETTING_SECRET:
        secret_set(field, text);
        return 0;
    case SETTING_BOOL:
        return read_bool(text, field, err);
    case SETTING_COUNT:
    case SETTING_MS:
    case SETTING_BYTES:
        return text_parse_int(text, 0, INT64_MAX, field, err);
    }
    return 0;
}

#define FILE_SUFFIX "_FILE"
#define SECRET_MAX_BYTES 65536

/* The value of a variable, or NULL; an empty one counts as unset. */
static char *read_variable(const char *name)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread */
    char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

/* The environment stays readable for the process's lifetime, unless its bytes are wiped. */
static void wipe_variable(const char *name, char *text)
{
    explicit_bzero(text, strlen(text));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread */
    (void)unsetenv(name);
}

static int read_secret_file(const char *path, struct secret *secret, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    int rc = 0;

    /* Reserved in one go, so that no smaller copy is left in memory. */
    strbuf_reserve(&text, SECRET_MAX_BYTES + 1);
    rc = file_read(path, SECRET_MAX_BYTES, &text, err);
    if (rc == 0) {
        text.text[strcspn(text.text, "\r\n")] = '\0';
        secret_set(secret, text.text);
    }
    explicit_bzero(text.text, text.len);
    if (rc == 0 && !secret_is_set(secret))
        return error_set(err, ERROR_INVALID, "%s is empty", path);
    return rc;
}

/*
 * Reads NAME, which is wiped from the environment, or the file that NAME_FILE names, or the
 * default.
 */
static int read_secret(const struct setting *setting, struct secret *secret, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf file_variable = STRBUF_INIT;
    char *text = read_variable(setting->name);
    const char *path = NULL;

    strbuf_appendf(&file_variable, "%s" FILE_SUFFIX, setting->name);
    path = read_variable(file_variable.text);
    if (text != NULL) {
        secret_set(secret, text);
        wipe_variable(setting->name, text);
        return 0;
    }
    if (path != NULL && read_secret_file(path, secret, err) < 0)
        return error_wrap(err, "%s", file_variable.text);
    if (path != NULL)
        return 0;
    if (setting->fallback == NULL)
        return error_set(err, ERROR_INVALID, "neither %s nor %s is set: %s", setting->name,
                         file_variable.text, setting->help);
    secret_set(secret, setting->fallback);
    return 0;
}

static int read_setting(const struct setting *setting, void *field, struct error *err)
{
    const char *text = NULL;

    if (setting->kind == SETTING_SECRET)
        return read_secret(setting, field, err);
    text = read_variable(setting->name);
    if (text == NULL)
        text = setting->fallback;
    if (text == NULL)
        return error_set(err, ERROR_INVALID, "%s is not set: %s", setting->name, setting->help);
    if (read_value(setting, text, field, err) < 0)
        return error_wrap(err, "%s", setting->name);
    return 0;
}

int settings_read(const struct setting *table, size_t n, void *settings, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (read_setting(&table[i], (char *)settings + table[i].offset, err) < 0)
            return -1;
    }
    return 0;
}

void settings_done(const struct setting *table, size_t n, void *settings)
{
    for (size_t i = 0; i < n; i++) {
        void *field = (char *)settings + table[i].offset;

        if (table[i].kind == SETTING_TEXT)
            mem_freep(field);
        else if (table[i].kind == SETTING_SECRET)
            secret_done(field);
    }
}

static void describe(const struct setting *setting, struct strbuf *out)
{
    strbuf_appendf(out, "%-28s %s (%s", setting->name, setting->help, kind_name(setting->kind));
    if (setting->fallback == NULL)
        strbuf_append(out, ", required");
    else if (setting->fallback[0] != '\0' && setting->kind != SETTING_SECRET)
        strbuf_appendf(out, ", default %s", setting->fallback);
    if (setting->kind == SETTING_SECRET)
        strbuf_appendf(out, "; or %s" FILE_SUFFIX ", a file that holds it", setting->name);
    strbuf_append(out, ")\n");
}

void settings_describe(const struct setting *table, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++)
        describe(&table[i], out);
}
