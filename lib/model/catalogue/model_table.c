#include "model/catalogue/model_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "model/catalogue/tsv.h"
#include "model/schema/words.h"

#define UNKNOWN "-"

enum { N_COLUMNS = 9, NAME_MAX_BYTES = 300 };
enum { TOKENS_MAX = 1000000000 };

static const double PRICE_MAX = 1e6;

void model_table_done(struct model_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->n; i++)
        mem_free(table->rows[i].name);
    for (size_t i = 0; i < table->n_rules; i++) {
        mem_free(table->rules[i].prefix);
        mem_free(table->rules[i].other);
    }
    mem_free(table->rows);
    mem_free(table->rules);
    *table = (struct model_table){NULL, 0, NULL, 0};
}

/* --- reading --- */

static int refuse(const struct tsv *tsv, const char *words, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s:%zu: %s", tsv->file->path, tsv->line, words);
}

static int read_price(const struct tsv *tsv, size_t column, double *price_out, struct error *err)
{
    const char *text = tsv->fields[column];
    char *end = NULL;
    double price = MODEL_PRICE_UNKNOWN;

    if (!text_equal(text, UNKNOWN)) {
        price = strtod(text, &end);
        if (!isdigit((unsigned char)text[0]) || *end != '\0' || !(price <= PRICE_MAX))
            return refuse(tsv, "a price is a number from 0, or - if it is unknown", err);
    }
    *price_out = price;
    return 0;
}

static int read_tokens(const struct tsv *tsv, size_t column, int64_t *tokens_out, struct error *err)
{
    struct error bad = ERROR_INIT;

    if (text_equal(tsv->fields[column], UNKNOWN)) {
        *tokens_out = 0;
        return 0;
    }
    if (text_parse_int(tsv->fields[column], 1, TOKENS_MAX, tokens_out, &bad) < 0)
        return refuse(tsv, "a number of tokens is a number from 1, or - if it is unknown", err);
    return 0;
}

/* Reads a list such as "vision,reasoning"; each name must be one of "a|b". */
static int read_list(const struct tsv *tsv, size_t column, const char *allowed,
                     struct strbuf *words_out, struct error *err)
{
    const char *at = tsv->fields[column];
    bool has_more = false;

    if (text_equal(at, UNKNOWN))
        return 0;
    do {
        size_t len = strcspn(at, ",");
        CLEANUP(mem_freep) char *word = mem_dup_bytes(at, len);

        if (!words_contain(allowed, word))
            return refuse(tsv, "a feature or a format has a name that is not known", err);
        strbuf_appendf(words_out, "%s%s", words_out->len > 0 ? "|" : "", word);
        has_more = at[len] == ',';
        at += has_more ? len + 1 : len;
    } while (has_more);
    return 0;
}

static int read_abilities(const struct tsv *tsv, struct model_facts *facts, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf features = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf formats = STRBUF_INIT;

    if (read_list(tsv, 7, "vision|reasoning", &features, err) < 0 ||
        read_list(tsv, 8, "chat|responses|messages", &formats, err) < 0)
        return -1;
    facts->has_vision = words_contain(features.text, "vision");
    facts->is_reasoning = words_contain(features.text, "reasoning");
    facts->speaks_chat = words_contain(formats.text, "chat");
    facts->speaks_responses = words_contain(formats.text, "responses");
    facts->speaks_messages = words_contain(formats.text, "messages");
    return 0;
}

static int read_facts(const struct tsv *tsv, struct model_facts *facts, struct error *err)
{
    if (tsv->n != N_COLUMNS)
        return refuse(tsv, "a model has nine columns, separated by tabs", err);
    if (strchr(tsv->fields[0], '/') == NULL || strlen(tsv->fields[0]) > NAME_MAX_BYTES)
        return refuse(tsv, "a model's name is its provider, a slash and a name", err);
    if (read_price(tsv, 1, &facts->input, err) < 0 || read_price(tsv, 2, &facts->output, err) < 0 ||
        read_price(tsv, 3, &facts->cache_read, err) < 0 ||
        read_price(tsv, 4, &facts->cache_write, err) < 0 ||
        read_tokens(tsv, 5, &facts->window_tokens, err) < 0 ||
        read_tokens(tsv, 6, &facts->max_output_tokens, err) < 0)
        return -1;
    if ((facts->input < 0) != (facts->output < 0))
        return refuse(tsv, "the prices of input and output are known or unknown together", err);
    return read_abilities(tsv, facts, err);
}

static int read_row(const struct tsv *tsv, struct model_table *table, struct error *err)
{
    struct model_facts facts = {.name = NULL};
    char *name = NULL;

    if (read_facts(tsv, &facts, err) < 0)
        return -1;
    if (table->n > 0 && strcmp(table->rows[table->n - 1].name, tsv->fields[0]) >= 0)
        return refuse(tsv, "models must be sorted by name, each once", err);
    name = mem_dup_text(tsv->fields[0]);
    for (char *at = name; *at != '\0'; at++) {
        if (isupper((unsigned char)*at)) {
            mem_free(name);
            return refuse(tsv, "a model's name must be in lower case", err);
        }
    }
    facts.name = name;
    table->rows = mem_resize(table->rows, (table->n + 1) * sizeof(*table->rows));
    table->rows[table->n++] = facts;
    return 0;
}

static int read_rule(const struct tsv *tsv, struct model_table *table, struct error *err)
{
    static const char *const kinds[] = {"strip", "same", "bare"};
    struct model_name_rule rule = {.prefix = NULL};
    size_t kind = 0;

    while (kind < ARRAY_SIZE(kinds) && !text_equal(tsv->fields[0], kinds[kind]))
        kind++;
    if (kind == ARRAY_SIZE(kinds) || tsv->n != (kind == MODEL_NAME_SAME ? 3 : 2) ||
        !text_ends_with(tsv->fields[1], "/"))
        return refuse(tsv, "a rule is strip, same or bare, and a prefix that ends in a slash", err);
    rule.kind = (enum model_name_rule_kind)kind;
    rule.prefix = mem_dup_text(tsv->fields[1]);
    if (rule.kind == MODEL_NAME_SAME)
        rule.other = mem_dup_text(tsv->fields[2]);
    table->rules = mem_resize(table->rules, (table->n_rules + 1) * sizeof(*table->rules));
    table->rules[table->n_rules++] = rule;
    return 0;
}

static int read_file(const struct text_folder *folder, const char *name,
                     int (*read)(const struct tsv *, struct model_table *, struct error *),
                     struct model_table *table, struct error *err)
{
    CLEANUP(tsv_done) struct tsv tsv = {.row = STRBUF_INIT};
    const struct text_file *file = text_folder_find(folder, name);

    if (file == NULL)
        return error_set(err, ERROR_INVALID, "the catalogue has no file %s", name);
    tsv_init(&tsv, file);
    while (tsv_next(&tsv)) {
        if (read(&tsv, table, err) < 0)
            return -1;
    }
    return 0;
}

int model_table_read(const struct text_folder *folder, struct model_table *table_out,
                     struct error *err)
{
    CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};

    if (read_file(folder, MODEL_TABLE_FILE, read_row, &table, err) < 0 ||
        read_file(folder, MODEL_NAMES_FILE, read_rule, &table, err) < 0)
        return -1;
    *table_out = table;
    table = (struct model_table){NULL, 0, NULL, 0};
    return 0;
}

/* --- looking up --- */

static int compare_names(const void *name, const void *row)
{
    return strcmp(name, ((const struct model_facts *)row)->name);
}

static const struct model_facts *find_exact(const struct model_table *table, const char *name)
{
    if (table->n == 0)
        return NULL;
    return bsearch(name, table->rows, table->n, sizeof(*table->rows), compare_names);
}

/* The length without a release's date ("-20250929", "-2025-08-07") or "-latest" at the end. */
static size_t undated_length(const char *name)
{
    static const char *const endings[] = {"-########", "-####-##-##", "-latest"};
    size_t len = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        size_t n = strlen(endings[i]);
        size_t n_same = 0;

        while (len > n && n_same < n &&
               (endings[i][n_same] == '#' ? isdigit((unsigned char)name[len - n + n_same]) != 0
                                          : name[len - n + n_same] == endings[i][n_same]))
            n_same++;
        if (n_same == n)
            return len - n;
    }
    return len;
}

static const struct model_facts *find_dated(const struct model_table *table, const char *name)
{
    const struct model_facts *facts = find_exact(table, name);
    size_t len = undated_length(name);
    CLEANUP(mem_freep) char *undated = NULL;

    if (facts != NULL || name[len] == '\0')
        return facts;
    undated = mem_dup_bytes(name, len);
    return find_exact(table, undated);
}

/* Some write claude-sonnet-4.5, others claude-sonnet-4-5. */
static const struct model_facts *find_spelt(const struct model_table *table, const char *name)
{
    const struct model_facts *facts = find_dated(table, name);
    CLEANUP(mem_freep) char *dashed = NULL;

    if (facts != NULL || strchr(name, '.') == NULL)
        return facts;
    dashed = mem_dup_text(name);
    for (char *at = dashed; *at != '\0'; at++) {
        if (*at == '.')
            *at = '-';
    }
    return find_dated(table, dashed);
}

static const struct model_facts *find_with(const struct model_table *table, const char *prefix,
                                           const char *rest)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s%s", prefix, rest);
    return find_spelt(table, name.text);
}

/* By the rules of a kind: the provider's other spelling, or one for a name that has none. */
static const struct model_facts *find_by_rules(const struct model_table *table,
                                               enum model_name_rule_kind kind, const char *name)
{
    const struct model_facts *facts = NULL;

    for (size_t i = 0; i < table->n_rules && facts == NULL; i++) {
        const struct model_name_rule *rule = &table->rules[i];

        if (rule->kind != kind)
            continue;
        if (kind == MODEL_NAME_BARE)
            facts = find_with(table, rule->prefix, name);
        else if (text_starts_with(name, rule->prefix))
            facts = find_with(table, rule->other, name + strlen(rule->prefix));
    }
    return facts;
}

/* The name after a prefix that is not part of it, or NULL. */
static const char *stripped(const struct model_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_rules; i++) {
        const struct model_name_rule *rule = &table->rules[i];

        if (rule->kind == MODEL_NAME_STRIP && text_starts_with(name, rule->prefix))
            return name + strlen(rule->prefix);
    }
    return NULL;
}

const struct model_facts *model_table_find(const struct model_table *table, const char *model)
{
    CLEANUP(mem_freep) char *name = NULL;
    const struct model_facts *facts = NULL;
    const char *rest = NULL;

    if (strlen(model) > NAME_MAX_BYTES)
        return NULL;
    name = mem_dup_text(model);
    for (char *at = name; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    for (const char *at = name; at != NULL && facts == NULL; at = stripped(table, at)) {
        facts = find_spelt(table, at);
        rest = at;
    }
    if (facts == NULL)
        facts = find_by_rules(table, MODEL_NAME_SAME, rest);
    if (facts == NULL && strchr(rest, '/') == NULL)
        facts = find_by_rules(table, MODEL_NAME_BARE, rest);
    return facts;
}
