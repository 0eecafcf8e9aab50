/*
 * Children of deft-action: their environment, how they are started, how a group of them is ended.
 *
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_CORE_PROCESS_H
#define DEFT_SANDBOX_CORE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Who the environment is for. */
enum process_kind {
    PROCESS_TERMINAL, /* the agent's shell: no session keys at all */
    PROCESS_COMMAND,  /* /api/bash: OH_SESSION_API_KEYS_0 stays, scripts read it */
};

/* A copy of a descriptor that a child gets under a number of its own. */
struct process_fd {
    int ours;
    int theirs;
};

struct process_spec {
    const char *path;        /* the program */
    char *const *argv;       /* ends with NULL */
    char *const *envp;       /* of process_environment_new() */
    const char *working_dir; /* NULL: stays */
    const struct process_fd *fds;
    size_t n_fds;
    bool has_terminal; /* descriptor 0 becomes the controlling terminal of a new session */
};

/* A list of NAME=value for children, to be freed with process_environment_free(). */
char **process_environment_new(enum process_kind kind, const char *workspace) NONNULL MUST_CHECK;
void process_environment_free(char **environment);

/*
 * Starts a child in a session of its own, with default signals and no descriptors but its list.
 * ERROR_UNAVAILABLE with the reason when the program cannot run, ERROR_INVALID when its working
 * directory cannot be entered.
 */
int process_start(const struct process_spec *spec, pid_t *pid_out,
                  struct error *err) NONNULL MUST_CHECK;

/* In a child: every signal as it was, none blocked. */
void process_default_signals(void);

/* A variable of our own environment that is no setting of ours; "" when unset. Borrowed. */
const char *process_variable(const char *name) NONNULL MUST_CHECK;
/* The user's name by /etc/passwd, else the number of the uid. The caller frees. */
char *process_user_name(void) MUST_CHECK;
/* The first executable of that name in the list of directories `path`; NULL when there is none. */
char *process_find_program(const char *name, const char *path) NONNULL MUST_CHECK;
/* bash, else sh: $SHELL, the usual places, PATH. NULL when there is no shell. The caller frees. */
char *process_find_shell(void) MUST_CHECK;
bool process_shell_is_bash(const char *path) NONNULL MUST_CHECK;

#endif
