/*
 * The abstract socket where git asks for credentials; its name is in GIT_CREDENTIAL_SOCKET of the
 * sandbox's programs. The kernel identifies the peer: only programs of this user in this sandbox
 * get an answer.
 *
 * A question has git's own format ("protocol=https", "host=…", an empty line), the answer is lines
 * as git reads them, or "error=" and a message for people.
 * Ownership: struct credential_socket owns its connections. Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_SOCKET_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/attr.h"

#define CREDENTIAL_SOCKET_VARIABLE "GIT_CREDENTIAL_SOCKET"

enum { CREDENTIAL_QUESTION_MAX_BYTES = 16 * 1024 };

struct credential_socket;
struct credentials;
struct error;
struct event_loop;

/* Listens, and puts the socket's name into the environment of all programs started from now on. */
int credential_socket_open(struct event_loop *loop, const struct credentials *credentials,
                           struct credential_socket **socket_out,
                           struct error *err) NONNULL MUST_CHECK;
void credential_socket_close(struct credential_socket *listener);
/* The address of a name; returns its length for bind() and connect(). */
socklen_t credential_socket_address(const char *name,
                                    struct sockaddr_un *address) NONNULL MUST_CHECK;

#endif
