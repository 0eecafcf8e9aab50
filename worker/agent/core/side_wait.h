/*
 * What a wait of the conversation's thread also ends for, or does in between.
 *
 * Threading: cancel() from any thread, the others from the conversation's; none blocks.
 */
#ifndef DEFT_WORKER_AGENT_CORE_SIDE_WAIT_H
#define DEFT_WORKER_AGENT_CORE_SIDE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct http_call;

struct side_wait {
    bool (*has_ended)(void *what); /* work on another thread; it has added to http_wake_fd() */
    void (*cancel)(void *what);    /* ends all of it */
    /*
     * Does what is due: at the beginning, and after each wake-up. Returns the time until the next
     * turn, in milliseconds. *request_out: a request whose end is a turn, too, or NULL; borrowed.
     */
    int64_t (*settle)(void *what, struct http_call **request_out);
    void *what;
};

#endif
