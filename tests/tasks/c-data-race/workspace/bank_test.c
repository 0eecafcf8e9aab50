#include "bank.h"

#include <stdio.h>

enum { N_ACCOUNTS = 4, N_THREADS = 4, N_TRANSFERS = 400000, CENTS = 1000 };

static struct account accounts[N_ACCOUNTS];

static void *move_money(void *arg)
{
    unsigned number = (unsigned)(size_t)arg + 1;

    for (int i = 0; i < N_TRANSFERS; i++) {
        number = number * 1103515245 + 12345;
        transfer(&accounts[(number >> 16) % N_ACCOUNTS], &accounts[(number >> 20) % N_ACCOUNTS], (number >> 24) % 7);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[N_THREADS];
    long sum = 0;

    for (int i = 0; i < N_ACCOUNTS; i++)
        account_init(&accounts[i], CENTS);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, move_money, (void *)i);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_ACCOUNTS; i++) {
        sum += balance(&accounts[i]);
        if (balance(&accounts[i]) < 0) {
            printf("account %d has %ld cents\n", i, balance(&accounts[i]));
            return 1;
        }
    }
    printf("%d cents were %ld in the end\n", N_ACCOUNTS * CENTS, sum);
    return sum != N_ACCOUNTS * CENTS;
}
