/*
 * One command of a shell, taken word by word: which program it runs, through which wrappers, and
 * whether that is one that analyzers report.
 *
 * Ownership: the caller's struct; shell_command_reset() releases what it holds.
 * Threading: one thread.
 */
#ifndef DEFT_MODEL_SECURITY_SHELL_COMMAND_H
#define DEFT_MODEL_SECURITY_SHELL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct shell_wrapper;

/* What the commands of a text do. */
struct shell_findings {
    bool has_forced_delete; /* rm, recursive and forced */
    bool has_root_delete;   /* rm as another user */
    bool has_system_delete; /* the first, of a folder of the system or the home */
    bool has_disk_write;    /* dd to a device, mkfs */
    bool has_fetched_code;  /* a download that is run */
    bool has_unknown;       /* a program that only the shell knows */
};

enum shell_role {
    SHELL_ROLE_NONE, /* the program is still to come */
    SHELL_ROLE_OTHER,
    SHELL_ROLE_UNKNOWN, /* the program's name is an expansion */
    SHELL_ROLE_DELETE,
    SHELL_ROLE_COPY,
    SHELL_ROLE_FORMAT,
    SHELL_ROLE_FETCH,
    SHELL_ROLE_SHELL,
    SHELL_ROLE_INTERPRETER,
    SHELL_ROLE_EVAL,
    SHELL_ROLE_SOURCE,
    SHELL_ROLE_FIND,
};

struct shell_command {
    enum shell_role role;
    const struct shell_wrapper *wrapper; /* the last one; its options may follow */
    size_t n_operands;                   /* of the wrapper, still to come */
    bool is_privileged;
    bool skips_next; /* the next word is an option's value */
    bool is_recursive;
    bool is_forced;
    bool ends_options;
    bool has_system_folder;
    bool has_device;
    bool takes_text;    /* after -c */
    bool has_script;    /* so it does not run its input */
    struct strbuf text; /* further commands: of -c, of eval, of the input */
};

#define SHELL_COMMAND_INIT {.text = STRBUF_INIT}

/* Takes the next word, without its quotes. */
void shell_command_take(struct shell_command *command, const struct strbuf *word,
                        bool is_expanded) NONNULL;
/* Takes text that the shell reads from its input. */
void shell_command_take_input(struct shell_command *command, const struct strbuf *word) NONNULL;
/* Adds what the command alone does. */
void shell_command_report(const struct shell_command *command,
                          struct shell_findings *findings) NONNULL;
/* True if the program runs what comes through a pipe. */
bool shell_command_runs_input(const struct shell_command *command) NONNULL MUST_CHECK;
/* True if the program runs its arguments or files that they name. */
bool shell_command_runs_arguments(const struct shell_command *command) NONNULL MUST_CHECK;
/* Back to a fresh one. */
void shell_command_reset(struct shell_command *command) NONNULL;

#endif
