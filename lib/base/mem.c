#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes without allocating, which would fail. */
static NORETURN void out_of_memory(void)
{
    static const char text[] = "{\"level\":\"error\",\"event\":\"memory.exhausted\"}\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)written;
    abort();
}

void *mem_alloc(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);

    if (memory == NULL)
        out_of_memory();
    return memory;
}

void *mem_alloc_array(size_t count, size_t size)
{
    size_t total = 0;

    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory();
    return mem_alloc(total);
}

void *mem_resize(void *memory, size_t size)
{
    void *resized = realloc(memory, size > 0 ? size : 1);

    if (resized == NULL)
        out_of_memory();
    return resized;
}

char *mem_dup_bytes(const void *bytes, size_t len)
{
    char *copy = mem_alloc(len + 1);

    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

char *mem_dup_text(const char *text)
{
    return mem_dup_bytes(text, strlen(text));
}

void mem_free(void *memory)
{
    free(memory);
}

void mem_freep(char **text)
{
    mem_free(*text);
    *text = NULL;
}
