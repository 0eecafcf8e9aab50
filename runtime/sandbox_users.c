#include "runtime/sandbox_users.h"

#include "runtime/layout.h"

struct sandbox_users sandbox_users_of_home(const char *home)
{
    (void)home;
    return (struct sandbox_users){
        .command = SANDBOX_UID, .server = SANDBOX_UID + 1, .group = SANDBOX_GID};
}
