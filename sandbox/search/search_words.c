#include "sandbox/search/search_words.h"

#include "base/strbuf.h"

void search_words_append(struct strbuf *out, const struct search_words *words)
{
    const json_t *path = NULL;
    size_t i = 0;

    if (words->n == 0)
        strbuf_appendf(out, "No files found %s pattern '%s' in '%s'.", words->what, words->pattern,
                       words->folder);
    else
        strbuf_appendf(out, "Found %zu file(s) %s pattern '%s' in '%s':", words->n, words->what,
                       words->pattern, words->folder);
    json_array_foreach (words->paths, i, path)
        strbuf_appendf(out, "\n%s", json_string_value(path));
    if (words->n > json_array_size(words->paths))
        strbuf_appendf(out,
                       "\n[%zu more, older ones, are not listed: use a narrower pattern or path.]",
                       words->n - json_array_size(words->paths));
    if (words->is_cut)
        strbuf_append(out,
                      "\n[The search ended at its limit before it had seen all files: search a "
                      "smaller folder.]");
}
