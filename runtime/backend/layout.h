/*
 * Where things are in every sandbox, whatever runs it.
 */
#ifndef DEFT_RUNTIME_BACKEND_LAYOUT_H
#define DEFT_RUNTIME_BACKEND_LAYOUT_H

/* The account of images that are made for deft, and the commands' user in sandboxes with a home of
 * before there was a range. */
#define SANDBOX_UID 10001
#define SANDBOX_GID 10001
#define SANDBOX_PORT 8000
#define ACTION_MOUNT "/.deft"
#define ACTION_NAME "deft-action"
#define CA_NAME "ca.pem"
#define JOURNAL_MOUNT "/.deft-j"
#define WORKSPACE_MOUNT "/workspace"
/* Whole outputs of commands that are too long for an observation; they live with the workspace. */
#define OUTPUTS_SETTING "DEFT_ACTION_SAVE_DIR"
#define OUTPUTS_FOLDER WORKSPACE_MOUNT "/.openhands/outputs"

/* The name server of all sandboxes: no host has the address, and the packet filter leads what is
 * sent there to deft's own. */
#define EGRESS_NAME_SERVER "192.0.2.53"

#endif
