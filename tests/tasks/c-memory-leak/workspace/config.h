/* A configuration: lines `name = value`; `#` begins a comment; a later line replaces an earlier one. */
#ifndef CONFIG_H
#define CONFIG_H

struct config;

/* Reads a configuration; NULL: a line is invalid, *line_out is its number. */
struct config *config_read(const char *text, int *line_out);

/* The value of a name, or NULL. It lives as long as the configuration. */
const char *config_value(const struct config *config, const char *name);

void config_free(struct config *config);

#endif
