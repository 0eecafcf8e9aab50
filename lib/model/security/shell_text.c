#include "model/security/shell_text.h"

#include <string.h>

#include "base/mem.h"

enum { MAX_OPEN = 256 };

void shell_texts_add(struct shell_texts *texts, const struct shell_text *text)
{
    if (texts->n == texts->size) {
        texts->size = 2 * texts->n + 8;
        texts->items = mem_resize(texts->items, texts->size * sizeof(*texts->items));
    }
    texts->items[texts->n++] = *text;
}

void shell_texts_set_run(struct shell_texts *texts, size_t first)
{
    for (size_t i = first; i < texts->n; i++)
        texts->items[i].is_run = true;
}

void shell_texts_done(struct shell_texts *texts)
{
    if (texts == NULL)
        return;
    for (size_t i = 0; i < texts->n; i++)
        mem_free(texts->items[i].owned);
    mem_free(texts->items);
    *texts = (struct shell_texts){.items = NULL};
}

/* Open brackets and double quotes around a place. */
struct nesting {
    char open[MAX_OPEN];
    size_t n;
};

/* Returns the character after the one at `at`, or after its quotes. */
static const char *step(struct nesting *nesting, const char *at, const char *end)
{
    bool is_quoted = nesting->open[nesting->n - 1] == '"';
    const char *quote = NULL;

    if (*at == '\\')
        return at + 1 < end ? at + 2 : end;
    if (*at == '\'' && !is_quoted) {
        quote = memchr(at + 1, '\'', (size_t)(end - at) - 1);
        return quote == NULL ? end : quote + 1;
    }
    if ((*at == '"' && is_quoted) || (*at == ')' && !is_quoted))
        nesting->n--;
    else if (*at == '"')
        nesting->open[nesting->n++] = '"';
    else if (*at == '(' && (!is_quoted || at[-1] == '$'))
        nesting->open[nesting->n++] = '(';
    return at + 1;
}

size_t shell_substitution_length(const char *at, const char *end)
{
    struct nesting nesting = {.open = {'('}, .n = 1};
    const char *start = at;

    while (at < end && nesting.n > 0 && nesting.n < MAX_OPEN)
        at = step(&nesting, at, end);
    if (nesting.n > 0)
        return (size_t)(end - start);
    return (size_t)(at - start) - 1;
}
