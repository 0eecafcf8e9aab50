#include "model/catalogue/model_features.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "model/catalogue/tsv.h"

static const char *const feature_names[MODEL_N_FEATURES] = {
#define X(constant, text) [constant] = (text),
    MODEL_FEATURES(X)
#undef X
};

void model_features_done(struct model_features *features)
{
    if (features == NULL)
        return;
    for (size_t i = 0; i < features->n; i++)
        mem_free(features->rules[i].part);
    mem_free(features->rules);
    *features = (struct model_features){NULL, 0};
}

static int read_rule(const struct tsv *tsv, struct model_features *features, struct error *err)
{
    size_t feature = 0;
    bool is_yes = tsv->n == 3 && text_equal(tsv->fields[1], "yes");

    while (feature < MODEL_N_FEATURES && !text_equal(feature_names[feature], tsv->fields[0]))
        feature++;
    if (feature == MODEL_N_FEATURES)
        return error_set(err, ERROR_INVALID, "%s:%zu: no feature is called \"%s\"", tsv->file->path,
                         tsv->line, tsv->fields[0]);
    if (tsv->n != 3 || (!is_yes && !text_equal(tsv->fields[1], "no")) || tsv->fields[2][0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "%s:%zu: a rule is a feature, yes or no, and a part of a model's name",
                         tsv->file->path, tsv->line);
    features->rules = mem_resize(features->rules, (features->n + 1) * sizeof(*features->rules));
    features->rules[features->n++] =
        (struct model_feature_rule){.feature = (enum model_feature)feature,
                                    .answer = is_yes ? MODEL_YES : MODEL_NO,
                                    .part = mem_dup_text(tsv->fields[2])};
    return 0;
}

int model_features_read(const struct text_folder *folder, struct model_features *features_out,
                        struct error *err)
{
    CLEANUP(model_features_done) struct model_features features = {NULL, 0};
    CLEANUP(tsv_done) struct tsv tsv = {.row = STRBUF_INIT};
    const struct text_file *file = text_folder_find(folder, MODEL_FEATURES_FILE);

    if (file == NULL)
        return error_set(err, ERROR_INVALID, "the catalogue has no file %s", MODEL_FEATURES_FILE);
    tsv_init(&tsv, file);
    while (tsv_next(&tsv)) {
        if (read_rule(&tsv, &features, err) < 0)
            return -1;
    }
    *features_out = features;
    features = (struct model_features){NULL, 0};
    return 0;
}

static bool matches(const char *part, const char *model)
{
    if (part[0] == '^')
        return strncasecmp(model, part + 1, strlen(part + 1)) == 0;
    return strcasestr(model, part) != NULL;
}

enum model_answer model_features_ask(const struct model_features *features,
                                     enum model_feature feature, const char *model)
{
    for (size_t i = features->n; i > 0; i--) {
        const struct model_feature_rule *rule = &features->rules[i - 1];

        if (rule->feature == feature && matches(rule->part, model))
            return rule->answer;
    }
    return MODEL_UNKNOWN;
}
