/* A disk that fails, put before the real one with LD_PRELOAD. It sees what SQLite writes to files that end in .db and .db-wal, and
 * writes into FAULTY_DISK_LOG what a loss of power could undo: before each change, what was there. As the environment says, it
 * ends the process at a change (FAULTY_DISK_KILL_AT), refuses writes because it is full (FAULTY_DISK_FULL_AT) or fails to sync
 * (FAULTY_DISK_SYNC_FAILS_AT), both for FAULTY_DISK_FAILS_FOR changes.
 *
 * A record: kind (1 write, 2 truncate, 3 sync), file (0 database, 1 its log), offset, size of the file before, number of old bytes,
 * number of new bytes, and these. Numbers are of 64 bits in the order of this machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static long changes, kill_at, full_at, fails_for, sync_fails_at;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : -1;
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTY_DISK_LOG");
    if (path) log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    kill_at = number("FAULTY_DISK_KILL_AT");
    full_at = number("FAULTY_DISK_FULL_AT");
    fails_for = number("FAULTY_DISK_FAILS_FOR");
    sync_fails_at = number("FAULTY_DISK_SYNC_FAILS_AT");
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* 0 for a database, 1 for its log, -1 for anything else. */
static int which(int fd) {
    char link[64], path[4096];
    if (log_fd < 0) return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return -1;
    path[length] = 0;
    return ends_with(path, ".db") ? 0 : ends_with(path, ".db-wal") ? 1 : -1;
}

static void put(const void *bytes, size_t length) {
    while (length > 0) {
        ssize_t done = syscall(SYS_write, log_fd, bytes, length);
        if (done <= 0) abort();
        bytes = (const char *)bytes + done;
        length -= done;
    }
}

static void record(uint64_t kind, uint64_t file, uint64_t offset, uint64_t size, const void *old, uint64_t old_length,
                   const void *new, uint64_t new_length) {
    uint64_t head[6] = {kind, file, offset, size, old_length, new_length};
    put(head, sizeof head);
    put(old, old_length);
    put(new, new_length);
}

static uint64_t size_of(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static int fails_from(long at) {
    return at >= 0 && changes >= at && changes < at + fails_for;
}

/* Counts a change; says whether it is to fail because the disk is full. */
static int fails(void) {
    changes++;
    if (kill_at >= 0 && changes >= kill_at) kill(getpid(), SIGKILL);
    return fails_from(full_at);
}

static ssize_t change(int fd, int file, const void *bytes, size_t length, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t done = -1;
    if (fails()) {
        errno = ENOSPC;
    } else {
        uint64_t size = size_of(fd);
        char *old = malloc(length ? length : 1);
        ssize_t there = syscall(SYS_pread64, fd, old, length, offset);
        record(1, file, offset, size, old, there > 0 ? there : 0, bytes, length);
        done = syscall(SYS_pwrite64, fd, bytes, length, offset);
        free(old);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    int file = which(fd);
    if (file < 0) return syscall(SYS_pwrite64, fd, bytes, length, offset);
    return change(fd, file, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    int file = which(fd);
    if (file < 0) return syscall(SYS_write, fd, bytes, length);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = change(fd, file, bytes, length, offset);
    if (done > 0) lseek(fd, offset + done, SEEK_SET);
    return done;
}

int ftruncate64(int fd, off_t length) {
    int file = which(fd);
    if (file < 0) return syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&lock);
    int done = -1;
    if (fails()) {
        errno = EIO;
    } else {
        uint64_t size = size_of(fd), cut = size > (uint64_t)length ? size - length : 0;
        char *old = malloc(cut ? cut : 1);
        ssize_t there = cut ? syscall(SYS_pread64, fd, old, cut, length) : 0;
        record(2, file, length, size, old, there > 0 ? there : 0, "", 0);
        done = syscall(SYS_ftruncate, fd, length);
        free(old);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t length) {
    return ftruncate64(fd, length);
}

static int sync_file(int fd, long call) {
    int file = which(fd);
    if (file < 0) return syscall(call, fd);
    pthread_mutex_lock(&lock);
    int done = -1;
    fails();
    if (fails_from(sync_fails_at)) {
        errno = EIO;
    } else {
        done = syscall(call, fd);
        if (done == 0) record(3, file, 0, size_of(fd), "", 0, "", 0);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) {
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd) {
    return sync_file(fd, SYS_fdatasync);
}
