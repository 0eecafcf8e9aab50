#include "bank.h"

void account_init(struct account *account, long cents)
{
    pthread_mutex_init(&account->lock, NULL);
    account->cents = cents;
}

int transfer(struct account *from, struct account *to, long cents)
{
    if (cents < 0 || from->cents < cents)
        return -1;
    pthread_mutex_lock(&from->lock);
    from->cents -= cents;
    pthread_mutex_unlock(&from->lock);
    to->cents += cents;
    return 0;
}

long balance(struct account *account)
{
    return account->cents;
}
