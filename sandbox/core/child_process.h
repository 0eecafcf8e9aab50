/*
 * Children of deft-action: their environment, starting them, and ending a group of them.
 *
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_CORE_PROCESS_H
#define DEFT_SANDBOX_CORE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Kind of child that an environment is for. */
enum process_kind {
    PROCESS_TERMINAL, /* the agent's shell: no session keys at all */
    PROCESS_COMMAND,  /* /api/bash: OH_SESSION_API_KEYS_0 stays, scripts read it */
};

/* A descriptor to pass to a child, and its number there. */
struct process_fd {
    int ours;
    int theirs;
};

struct process_spec {
    const char *path;        /* the program */
    char *const *argv;       /* ends with NULL */
    char *const *envp;       /* of process_environment_new() */
    const char *working_dir; /* NULL: unchanged */
    const struct process_fd *fds;
    size_t n_fds;
    bool has_terminal; /* descriptor 0 becomes the controlling terminal of a new session */
};

/* A list of NAME=value for children, to be freed with process_environment_free(). */
char **process_environment_new(enum process_kind kind, const char *workspace) NONNULL MUST_CHECK;
void process_environment_free(char **environment);

/*
 * Starts a child in a session of its own, with default signals and only the listed descriptors.
 * ERROR_UNAVAILABLE with the reason when the program cannot run, ERROR_INVALID when its working
 * directory cannot be entered.
 */
int process_start(const struct process_spec *spec, pid_t *pid_out,
                  struct error *err) NONNULL MUST_CHECK;

/* In a child: resets all signals to their defaults and blocks none. */
void process_default_signals(void);

/* A variable of our environment that is not one of our settings; "" when unset. Borrowed. */
const char *process_variable(const char *name) NONNULL MUST_CHECK;
/* The user's name by /etc/passwd, else the number of the uid. The caller frees. */
char *process_user_name(void) MUST_CHECK;
/* The first executable with that name in the list of directories `path`; NULL if none. */
char *process_find_program(const char *name, const char *path) NONNULL MUST_CHECK;
/* bash, else sh: $SHELL, the usual places, PATH. NULL when there is no shell. The caller frees. */
char *process_find_shell(void) MUST_CHECK;
bool process_shell_is_bash(const char *path) NONNULL MUST_CHECK;

#endif
