#include "model/catalogue/text_template.h"

#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "model/schema/words.h"

#define PART_MARK "@@ "
#define VALUE_BEGIN "{{"
#define VALUE_END "}}"

enum { NAME_MAX_BYTES = 64 };

/* A place in a file, for messages. */
struct text_cursor {
    const struct text_file *file;
    const char *at;
    size_t line;
};

void text_template_done(struct text_template *template)
{
    if (template == NULL)
        return;
    for (size_t i = 0; i < template->n; i++) {
        mem_free(template->parts[i].name);
        mem_free(template->parts[i].text);
    }
    mem_free(template->parts);
    *template = (struct text_template){NULL, 0};
}

static const struct text_part *find_part(const struct text_template *template, const char *name)
{
    for (size_t i = 0; i < template->n; i++) {
        if (text_equal(template->parts[i].name, name))
            return &template->parts[i];
    }
    return NULL;
}

/* --- reading --- */

/* The bytes up to the next line that names a part, or to the end. */
static const char *part_end(const char *begin)
{
    const char *at = begin;

    while (*at != '\0' && !text_starts_with(at, PART_MARK)) {
        at += strcspn(at, "\n");
        if (*at == '\n')
            at++;
    }
    return at;
}

static size_t count_lines(const char *begin, const char *end)
{
    size_t n = 0;

    for (const char *at = begin; at < end; at++)
        n += *at == '\n';
    return n;
}

static void add_part(struct text_template *template, const char *name, const char *begin,
                     const char *end)
{
    while (begin < end && *begin == '\n')
        begin++;
    while (begin < end && end[-1] == '\n')
        end--;
    template->parts = mem_resize(template->parts, (template->n + 1) * sizeof(*template->parts));
    template->parts[template->n++] = (struct text_part){
        .name = mem_dup_text(name), .text = mem_dup_bytes(begin, (size_t)(end - begin))};
}

static bool lists_name(const char *list, const char *name)
{
    return list != NULL && name[0] != '\0' && words_contain(list, name);
}

static int check_name(const struct text_cursor *cursor, const struct text_rules *rules,
                      const struct text_template *template, const char *name, struct error *err)
{
    if (!lists_name(rules->parts, name) && !lists_name(rules->optional, name))
        return error_set(err, ERROR_INVALID, "%s:%zu: no part is called \"%s\"", cursor->file->path,
                         cursor->line, name);
    if (find_part(template, name) != NULL)
        return error_set(err, ERROR_INVALID, "%s:%zu: the part \"%s\" was there before",
                         cursor->file->path, cursor->line, name);
    return 0;
}

/* Every "{{" begins a known name and ends in the same line. */
static int check_values(const struct text_cursor *cursor, const char *end,
                        const struct text_rules *rules, struct error *err)
{
    const char *last = cursor->at;
    size_t line = cursor->line;

    for (const char *at = strstr(last, VALUE_BEGIN); at != NULL && at < end;
         at = strstr(at, VALUE_BEGIN)) {
        char name[NAME_MAX_BYTES + 1] = "";
        size_t len = 0;

        at += strlen(VALUE_BEGIN);
        line += count_lines(last, at);
        last = at;
        len = strcspn(at, "}\n");
        if (len > NAME_MAX_BYTES || !text_starts_with(at + len, VALUE_END))
            return error_set(err, ERROR_INVALID, "%s:%zu: \"{{\" without a name and \"}}\"",
                             cursor->file->path, line);
        memcpy(name, at, len);
        if (!lists_name(rules->values, name))
            return error_set(err, ERROR_INVALID, "%s:%zu: no value is called \"%s\"",
                             cursor->file->path, line, name);
    }
    return 0;
}

/* Reads one part from the cursor on, and moves it to the next one's line. */
static int read_part(struct text_cursor *cursor, const char *name, const struct text_rules *rules,
                     struct text_template *template, struct error *err)
{
    const char *end = part_end(cursor->at);

    if (check_values(cursor, end, rules, err) < 0)
        return -1;
    add_part(template, name, cursor->at, end);
    cursor->line += count_lines(cursor->at, end);
    cursor->at = end;
    return 0;
}

static int read_named_part(struct text_cursor *cursor, const struct text_rules *rules,
                           struct text_template *template, struct error *err)
{
    const char *name_at = cursor->at + strlen(PART_MARK);
    size_t len = strcspn(name_at, "\n");
    CLEANUP(mem_freep) char *name = mem_dup_bytes(name_at, len);

    if (check_name(cursor, rules, template, name, err) < 0)
        return -1;
    cursor->at = name_at + len;
    return read_part(cursor, name, rules, template, err);
}

static int check_complete(const struct text_file *file, const struct text_rules *rules,
                          const struct text_template *template, struct error *err)
{
    json_auto_t *parts = words_to_json(rules->parts);
    const json_t *name = NULL;
    size_t i = 0;

    if (text_is_blank(text_template_part(template, "")) != rules->has_only_parts)
        return error_set(err, ERROR_INVALID, "%s:1: the file must begin with its %s", file->path,
                         rules->has_only_parts ? "first part" : "text");
    json_array_foreach (parts, i, name) {
        if (text_is_blank(text_template_part(template, json_string_value(name))))
            return error_set(err, ERROR_INVALID, "%s: the part \"%s\" is missing or empty",
                             file->path, json_string_value(name));
    }
    return 0;
}

int text_template_read(const struct text_file *file, const struct text_rules *rules,
                       struct text_template *template_out, struct error *err)
{
    struct text_cursor cursor = {.file = file, .at = file->text, .line = 1};
    CLEANUP(text_template_done) struct text_template template = {NULL, 0};

    if (read_part(&cursor, "", rules, &template, err) < 0)
        return -1;
    while (*cursor.at != '\0') {
        if (read_named_part(&cursor, rules, &template, err) < 0)
            return -1;
    }
    if (check_complete(file, rules, &template, err) < 0)
        return -1;
    *template_out = template;
    template = (struct text_template){NULL, 0};
    return 0;
}

/* --- rendering --- */

const char *text_template_part(const struct text_template *template, const char *part)
{
    const struct text_part *found = find_part(template, part);

    return found != NULL ? found->text : "";
}

static void append_value(const char *name, size_t len, const struct text_value *values,
                         size_t n_values, struct strbuf *out)
{
    for (size_t i = 0; i < n_values; i++) {
        if (strlen(values[i].name) == len && memcmp(values[i].name, name, len) == 0) {
            strbuf_append(out, values[i].text);
            return;
        }
    }
}

void text_template_append(const struct text_template *template, const char *part,
                          const struct text_value *values, size_t n_values, struct strbuf *out)
{
    const char *at = text_template_part(template, part);

    for (const char *next = strstr(at, VALUE_BEGIN); next != NULL; next = strstr(at, VALUE_BEGIN)) {
        const char *name = next + strlen(VALUE_BEGIN);
        size_t len = strcspn(name, "}");

        strbuf_append_bytes(out, at, (size_t)(next - at));
        append_value(name, len, values, n_values, out);
        at = name + len + strlen(VALUE_END);
    }
    strbuf_append(out, at);
}
