/* Forks while another thread adds an exit handler, for which it holds a lock of libc over an allocation. The child ends without exit
   handlers. Prints how it ended; a child that waits for the lock is killed. */

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"

enum { HELD = 200000, PATIENCE = 5, MANY = 1000 };  // HELD in microseconds, PATIENCE in seconds, MANY exit handlers

extern void* __libc_calloc(size_t count, size_t size);

static sem_t held;
static _Thread_local bool adds_handlers = false;

/* Takes the place of libc's. */
void* calloc(size_t count, size_t size) {
    if (adds_handlers) {
        adds_handlers = false;
        sem_post(&held);
        usleep(HELD);
    }
    return __libc_calloc(count, size);
}

static void handler(void) {}

static void* add_handlers(void* unused) {
    adds_handlers = true;
    for (int i = 0; i < MANY && adds_handlers; ++i) atexit(handler);
    return unused;
}

int main(void) {
    pthread_t thread;
    if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
    if (sem_init(&held, 0, 0) != 0 || pthread_create(&thread, NULL, add_handlers, NULL) != 0) return 1;
    sem_wait(&held);
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; ++waited) {
        if (waited == PATIENCE * 100) kill(child, SIGKILL);
        usleep(10000);
    }
    pthread_join(thread, NULL);
    WIFEXITED(status) ? printf("exit status %d\n", WEXITSTATUS(status)) : printf("signal %d\n", WTERMSIG(status));
    return 0;
}
