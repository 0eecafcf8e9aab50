#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *name;
    char *value;
    struct entry *next;
};

struct config {
    struct entry *first;
};

/* A copy without the white space at both ends. */
static char *trimmed(const char *text, size_t n)
{
    char *copy = NULL;

    while (n > 0 && isspace((unsigned char)text[0])) {
        text++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    copy = malloc(n + 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

static struct entry *find(const struct config *config, const char *name)
{
    struct entry *entry = config->first;

    while (entry != NULL && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

static void set(struct config *config, char *name, char *value)
{
    struct entry *entry = find(config, name);

    if (entry == NULL) {
        entry = malloc(sizeof(*entry));
        entry->name = name;
        entry->next = config->first;
        config->first = entry;
    }
    entry->value = value;
}

/* 0, or -1 where the line is invalid. */
static int read_line(struct config *config, const char *text, size_t n)
{
    char *line = trimmed(text, n);
    char *equals = strchr(line, '=');
    char *name = NULL;

    if (line[0] == '\0' || line[0] == '#') {
        free(line);
        return 0;
    }
    if (equals == NULL)
        return -1;
    name = trimmed(line, (size_t)(equals - line));
    if (name[0] == '\0') {
        free(line);
        return -1;
    }
    set(config, name, trimmed(equals + 1, strlen(equals + 1)));
    free(line);
    return 0;
}

struct config *config_read(const char *text, int *line_out)
{
    struct config *config = calloc(1, sizeof(*config));

    for (int line = 1; *text != '\0'; line++) {
        size_t n = strcspn(text, "\n");

        if (read_line(config, text, n) < 0) {
            *line_out = line;
            free(config);
            return NULL;
        }
        text += n + (text[n] == '\n');
    }
    return config;
}

const char *config_value(const struct config *config, const char *name)
{
    const struct entry *entry = find(config, name);

    return entry == NULL ? NULL : entry->value;
}

void config_free(struct config *config)
{
    struct entry *next = NULL;

    for (struct entry *entry = config->first; entry != NULL; entry = next) {
        next = entry->next;
        free(entry->value);
        free(entry);
    }
    free(config);
}
