/*
 * Children of deft-action: their environment, starting them, and ending a group of them.
 *
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_CORE_CHILD_PROCESS_H
#define DEFT_SANDBOX_CORE_CHILD_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Kind of child that an environment is for. */
enum child_process_kind {
    CHILD_PROCESS_TERMINAL, /* the agent's shell: no session keys at all */
    CHILD_PROCESS_COMMAND,  /* /api/bash: OH_SESSION_API_KEYS_0 stays, scripts read it */
};

/* A descriptor to pass to a child, and its number there. */
struct child_process_fd {
    int ours;
    int theirs;
};

struct child_process_spec {
    const char *path;        /* the program */
    char *const *argv;       /* ends with NULL */
    char *const *envp;       /* of child_process_environment_new() */
    const char *working_dir; /* NULL: unchanged */
    const struct child_process_fd *fds;
    size_t n_fds;
    pid_t *session; /* gets the child's pid before its session begins, if shared; NULL: nothing */
    bool has_terminal;     /* descriptor 0 becomes the controlling terminal of a new session */
    bool ends_with_server; /* it is killed when the process that starts it dies */
};

/* A list of NAME=value for children, to be freed with child_process_environment_free(). */
char **child_process_environment_new(enum child_process_kind kind,
                                     const char *workspace) NONNULL MUST_CHECK;
void child_process_environment_free(char **environment);
/* Sets a variable in such a list, which may move: the list as it is then. */
char **child_process_environment_put(char **environment, const char *name,
                                     const char *value) NONNULL MUST_CHECK;

/*
 * Starts a child in a session of its own, with default signals and only the listed descriptors.
 * ERROR_UNAVAILABLE with the reason when the program cannot run, ERROR_INVALID when its working
 * directory cannot be entered.
 */
int child_process_start(const struct child_process_spec *spec, pid_t *pid_out,
                        struct error *err) NONNULL MUST_CHECK;

/*
 * Kills a process and the group that it leads; one that does not lead its group yet is killed
 * alone. Nothing for a pid of 0.
 */
void child_process_kill_group(pid_t pid);

/* In a child: resets all signals to their defaults and blocks none. */
void child_process_default_signals(void);

/* A variable of our environment that is not one of our settings; "" when unset. Borrowed. */
const char *child_process_variable(const char *name) NONNULL MUST_CHECK;
/* The user's name by /etc/passwd, else the number of the uid. The caller frees. */
char *child_process_user_name(void) MUST_CHECK;
/* The first executable with that name in the list of directories `path`; NULL if none. */
char *child_process_find_program(const char *name, const char *path) NONNULL MUST_CHECK;
/* bash, else sh: $SHELL, the usual places, PATH. NULL when there is no shell. The caller frees. */
char *child_process_find_shell(void) MUST_CHECK;
bool child_process_shell_is_bash(const char *path) NONNULL MUST_CHECK;

#endif
