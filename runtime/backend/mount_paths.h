/*
 * Paths and accounts in every sandbox, whatever the back end.
 */
#ifndef DEFT_RUNTIME_BACKEND_MOUNT_PATHS_H
#define DEFT_RUNTIME_BACKEND_MOUNT_PATHS_H

/* The account in images made for deft, and the commands' user in sandboxes whose home predates the
 * user range. */
#define SANDBOX_UID 10001
#define SANDBOX_GID 10001
#define SANDBOX_PORT 8000
#define ACTION_MOUNT "/.deft"
#define ACTION_NAME "deft-action"
#define CA_NAME "ca.pem"
#define JOURNAL_MOUNT "/.deft-j"
#define WORKSPACE_MOUNT "/workspace"
/* Full outputs of commands that are too long for an observation; stored in the workspace. */
#define OUTPUTS_SETTING "DEFT_ACTION_SAVE_DIR"
#define OUTPUTS_FOLDER WORKSPACE_MOUNT "/.openhands/outputs"

/* The name server of all sandboxes: an address that no host has; the packet filter redirects
 * queries to deft's own. */
#define EGRESS_NAME_SERVER "192.0.2.53"

#endif
