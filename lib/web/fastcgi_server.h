/*
 * Serves FastCGI requests on Unix sockets, each socket with threads of its own, so that one kind of
 * request cannot take the threads of another. A side that stays silent is cut off.
 *
 * Ownership: listeners, contexts and paths are borrowed until fastcgi_server_free().
 * Threading: `serve` runs on the listener's threads; all other functions on the thread that started
 * the server.
 * Decision: docs/decisions/0076-web-core.md
 */
#ifndef DEFT_WEB_FASTCGI_SERVER_H
#define DEFT_WEB_FASTCGI_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct crash_points;
struct error;
struct fastcgi_server;
struct reply_output;
struct request_input;

enum { FASTCGI_LISTENERS_MAX = 4 };

/* A socket and its threads. */
struct fastcgi_listener {
    const char *path;
    int64_t n_threads;
    unsigned mode; /* of the socket's file; 0: by the umask */
    /* Serves a request: reads the body from input, writes status, headers and body to output. */
    void (*serve)(void *context, const struct request_input *input,
                  const struct reply_output *output);
    void *context;
};

/*
 * Listens and starts the threads. crash: NULL: none; CRASH_REPLY_SENT. ERROR_CONFLICT when another
 * process listens on a socket. Threads already started keep running when a later start fails: the
 * caller then ends the process.
 */
int fastcgi_server_start(const struct fastcgi_listener *listeners, size_t n_listeners,
                         struct crash_points *crash, struct fastcgi_server **server_out,
                         struct error *err) __attribute__((nonnull(1, 4, 5))) MUST_CHECK;
/* Accepts no more requests, and removes the sockets. */
void fastcgi_server_close(struct fastcgi_server *server) NONNULL;
/*
 * After fastcgi_server_close(): waits for the requests in progress until deadline_ms
 * (clock_monotonic_ms()); returns the number of those that are left.
 */
size_t fastcgi_server_wait(struct fastcgi_server *server, int64_t deadline_ms) NONNULL MUST_CHECK;
/* After fastcgi_server_wait() has returned 0. */
void fastcgi_server_free(struct fastcgi_server *server);

#endif
