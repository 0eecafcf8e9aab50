/*
 * The context of the process, created by main() and passed down.
 */
#ifndef DEFT_SANDBOX_CORE_SERVER_H
#define DEFT_SANDBOX_CORE_SERVER_H

#include <stdint.h>

struct actions;
struct bash;
struct bash_waits;
struct config;
struct credential_door;
struct credentials;
struct executions;
struct jobs;
struct journal;
struct loop;
struct preview_door;

struct server {
    struct config *config; /* changed only by init.c */
    struct loop *loop;
    struct journal *journal;
    struct actions *actions;
    struct executions *executions;
    struct bash *bash;
    struct bash_waits *bash_waits;
    struct jobs *jobs;
    struct credentials *credentials;
    struct credential_door *credential_door; /* NULL where it cannot be created */
    struct preview_door *preview_door;       /* NULL where it is not needed */
    int64_t started_ms;
    int64_t last_action_ms; /* when one last started or ended */
};

#endif
