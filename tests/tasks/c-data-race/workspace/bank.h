/* Accounts that several threads use at once. */
#ifndef BANK_H
#define BANK_H

#include <pthread.h>
#include <stddef.h>

struct account {
    pthread_mutex_t lock;
    long cents;
};

void account_init(struct account *account, long cents);

/* Moves an amount; 0, or -1: it is negative, or not there. An account may also be both. */
int transfer(struct account *from, struct account *to, long cents);

/* The balance at this moment. */
long balance(struct account *account);

#endif
