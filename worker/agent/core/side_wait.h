/*
 * Work on other threads that a wait of the conversation's thread also ends for.
 *
 * Threading: has_ended() from the conversation's thread, cancel() from any; neither blocks.
 */
#ifndef DEFT_WORKER_AGENT_CORE_SIDE_WAIT_H
#define DEFT_WORKER_AGENT_CORE_SIDE_WAIT_H

#include <stdbool.h>

struct side_wait {
    bool (*has_ended)(void *what); /* a piece of the work; it has added to http_wake_fd() */
    void (*cancel)(void *what);    /* ends all of it */
    void *what;
};

#endif
