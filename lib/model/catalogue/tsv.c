#include "model/catalogue/tsv.h"

#include <string.h>

#include "base/text_folder.h"

void tsv_init(struct tsv *tsv, const struct text_file *file)
{
    *tsv = (struct tsv){.file = file, .rest = file->text, .row = STRBUF_INIT};
}

void tsv_done(struct tsv *tsv)
{
    if (tsv != NULL)
        strbuf_done(&tsv->row);
}

static void split(struct tsv *tsv)
{
    char *at = tsv->row.text;

    tsv->n = 0;
    while (at != NULL) {
        char *tab = strchr(at, '\t');

        if (tsv->n < TSV_FIELDS_MAX)
            tsv->fields[tsv->n] = at;
        tsv->n++;
        if (tab != NULL)
            *tab++ = '\0';
        at = tab;
    }
}

bool tsv_next(struct tsv *tsv)
{
    while (*tsv->rest != '\0') {
        size_t len = strcspn(tsv->rest, "\n");

        strbuf_reset(&tsv->row);
        strbuf_append_bytes(&tsv->row, tsv->rest, len);
        tsv->rest += tsv->rest[len] == '\n' ? len + 1 : len;
        tsv->line++;
        if (tsv->row.text[0] == '\0' || tsv->row.text[0] == '#')
            continue;
        split(tsv);
        return true;
    }
    return false;
}
