/*
 * The context of the process, created by main() and passed down.
 */
#ifndef DEFT_SANDBOX_CORE_ACTION_SERVER_H
#define DEFT_SANDBOX_CORE_ACTION_SERVER_H

#include <stdint.h>

struct action_config;
struct actions;
struct bash;
struct bash_waits;
struct credential_socket;
struct credentials;
struct event_loop;
struct fork_requests;
struct journal;
struct legacy_actions;
struct mcp_programs;
struct preview_listener;

struct action_server {
    struct action_config *config; /* changed only by init.c */
    struct event_loop *loop;
    struct journal *journal;
    struct actions *actions;
    struct legacy_actions *legacy;
    struct bash *bash;
    struct bash_waits *bash_waits;
    struct fork_requests *forks;
    struct mcp_programs *mcp_programs;
    struct credentials *credentials;
    struct credential_socket *credential_socket; /* NULL where it cannot be created */
    struct preview_listener *preview_listener;   /* NULL where it is not needed */
    int64_t started_ms;
    int64_t last_action_ms; /* when one last started or ended */
};

#endif
