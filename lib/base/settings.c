#include "base/settings.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
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

int settings_read(const struct setting *table, size_t n, void *settings, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread */
        const char *text = getenv(table[i].name);

        if (text == NULL || text[0] == '\0')
            text = table[i].fallback;
        if (text == NULL)
            return error_set(err, ERROR_INVALID, "%s is not set: %s", table[i].name, table[i].help);
        if (read_value(&table[i], text, (char *)settings + table[i].offset, err) < 0)
            return error_wrap(err, "%s", table[i].name);
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
    strbuf_append(out, ")\n");
}

void settings_describe(const struct setting *table, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++)
        describe(&table[i], out);
}
