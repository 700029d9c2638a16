/* For tests that end or change a whole process: runs a function in a child process and returns its exit status and its
 * output on stderr. */
#ifndef CP_TESTS_CHILD_H
#define CP_TESTS_CHILD_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thread sanitizer does not allow new threads after a fork in a program with threads. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_MAY_START_THREADS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_MAY_START_THREADS 0
#endif
#endif
#ifndef CHILD_MAY_START_THREADS
#define CHILD_MAY_START_THREADS 1
#endif

/* Reads the child's output from the pipe until it ends, appends a zero byte, and returns its exit status, or -1. */
static inline int child_end(pid_t child, const int pipe_ends[2], char *text, size_t size) {
    size_t  length = 0;
    ssize_t got;
    close(pipe_ends[1]);
    while ((got = read(pipe_ends[0], text + length, size - 1 - length)) > 0) length += (size_t)got;
    text[length] = '\0';
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns the child's exit status (the function's return value unless it exits itself), or -1 if it did not end by itself
 * within half an hour or could not be started. Fills `errors` with its output on stderr, ended by a zero byte. */
static inline int child_run(int (*function)(void *context), void *context, char *errors, size_t size) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return -1;
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        alarm(1800);
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        _exit(function(context));
    }
    return child_end(child, pipe_ends, errors, size);
}

#endif
