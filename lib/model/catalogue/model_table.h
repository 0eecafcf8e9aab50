/*
 * The table of models, models.tsv, and how names are looked up in it, model_names.tsv.
 *
 * Ownership: model_table_done() releases the rows; results live as long as the table.
 * Threading: immutable once read.
 * Decision:  docs/decisions/0084-names-of-models.md
 */
#ifndef DEFT_MODEL_CATALOGUE_MODEL_TABLE_H
#define DEFT_MODEL_CATALOGUE_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct text_folder;

#define MODEL_TABLE_FILE "models.tsv"
#define MODEL_NAMES_FILE "model_names.tsv"

/* A price that the table does not have; it is not 0, the price of a free model. */
#define MODEL_PRICE_UNKNOWN (-1.0)

struct model_facts {
    char *name; /* "provider/name" in lower case */
    /* US dollars per million tokens, or MODEL_PRICE_UNKNOWN; input and output are both known or
     * both unknown */
    double input;
    double output;
    double cache_read;
    double cache_write;
    int64_t window_tokens;     /* 0: unknown */
    int64_t max_output_tokens; /* 0: unknown */
    bool has_vision;
    bool is_reasoning;
    bool speaks_chat;
    bool speaks_responses;
    bool speaks_messages;
};

enum model_name_rule_kind { MODEL_NAME_STRIP, MODEL_NAME_SAME, MODEL_NAME_BARE };

struct model_name_rule {
    enum model_name_rule_kind kind;
    char *prefix;
    char *other; /* MODEL_NAME_SAME: the prefix in the table; else NULL */
};

struct model_table {
    struct model_facts *rows; /* sorted by name */
    size_t n;
    struct model_name_rule *rules; /* in the file's order */
    size_t n_rules;
};

void model_table_done(struct model_table *table);
int model_table_read(const struct text_folder *folder, struct model_table *table_out,
                     struct error *err) NONNULL MUST_CHECK;
/* NULL for an unknown model. */
const struct model_facts *model_table_find(const struct model_table *table,
                                           const char *model) NONNULL MUST_CHECK;

#endif
