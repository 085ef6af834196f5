/* Calls of the system that fail, preloaded into a process and its children. See faults.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *wanted_call, *wanted_path;
static int wanted_error;
static long long allowed;       /* bytes, or calls of those that take none */
static _Atomic long long spent; /* of them */

__attribute__((constructor)) static void read_environment(void) {
    const char *text = getenv("FAULT_ALLOWED"), *error = getenv("FAULT_ERRNO");
    wanted_call = getenv("FAULT_CALL");
    wanted_path = getenv("FAULT_PATH");
    allowed = text ? atoll(text) : 0;
    wanted_error = error ? atoi(error) : EIO;
}

static int is_wanted(const char *call, int file) {
    char link[64], path[PATH_MAX];
    if (!wanted_call || strcmp(wanted_call, call) || !wanted_path) {
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) {
        return 0;
    }
    path[size] = 0;
    return strstr(path, wanted_path) != NULL;
}

/* How many of `size` bytes a call may still take; -1, with errno, where it fails. */
static ssize_t granted(const char *call, int file, size_t size) {
    if (!is_wanted(call, file) || !size) {
        return (ssize_t)size;
    }
    long long before = atomic_fetch_add(&spent, (long long)size);
    if (before >= allowed) {
        errno = wanted_error;
        return -1;
    }
    long long left = allowed - before;
    return left < (long long)size ? left : (ssize_t)size;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size) {
    ssize_t room = granted("write", file, size);
    return room < 0 ? -1 : REAL(write)(file, data, (size_t)room);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    ssize_t room = granted("write", file, size);
    return room < 0 ? -1 : REAL(pwrite)(file, data, (size_t)room, at);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    ssize_t room = granted("write", file, size);
    if (room < 0) return -1;
    struct iovec allowed_parts[count];
    for (int i = 0; i < count; i++) {
        size_t own = parts[i].iov_len < (size_t)room ? parts[i].iov_len : (size_t)room;
        allowed_parts[i] = (struct iovec){parts[i].iov_base, own};
        room -= own;
    }
    return REAL(writev)(file, allowed_parts, count);
}

ssize_t read(int file, void *data, size_t size) {
    ssize_t room = granted("read", file, size);
    return room < 0 ? -1 : REAL(read)(file, data, (size_t)room);
}

ssize_t pread(int file, void *data, size_t size, off_t at) {
    ssize_t room = granted("read", file, size);
    return room < 0 ? -1 : REAL(pread)(file, data, (size_t)room, at);
}

int fsync(int file) {
    return granted("fsync", file, 1) < 0 ? -1 : REAL(fsync)(file);
}

int flock(int file, int operation) {
    return granted("flock", file, 1) < 0 ? -1 : REAL(flock)(file, operation);
}

/* The wall clock jumps by FAULT_ALLOWED seconds, forwards and back, at each look. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = REAL(clock_gettime)(clock, now);
    if (wanted_call && clock == CLOCK_REALTIME && !strcmp(wanted_call, "clock")) {
        long long looks = atomic_fetch_add(&spent, 1);
        now->tv_sec += looks % 2 ? allowed : -allowed;
    }
    return result;
}
