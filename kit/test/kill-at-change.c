/*
 * Ends a process by SIGKILL before its n-th call that changes the disk, or lets the disk be full: LD_PRELOAD it.
 *
 *   KILL_AT       which call, from 1; a write is done by half first, as a process that is killed within one leaves it
 *   FULL_FROM     from which call on that needs room, from 1, the disk is full
 *   KILL_BELOW    the folder whose changes count: pipes, sockets and other folders do not
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls, growths;

/* Whether this call is the one. */
static int counts(const char *path) {
  const char *below = getenv("KILL_BELOW");
  const char *at = getenv("KILL_AT");
  if (!below || !at || strncmp(path, below, strlen(below)) != 0) return 0;
  return atomic_fetch_add(&calls, 1) + 1 == strtol(at, NULL, 10);
}

/* Whether there is no room for this call. */
static int is_full(const char *path) {
  const char *below = getenv("KILL_BELOW");
  const char *from = getenv("FULL_FROM");
  if (!below || !from || strncmp(path, below, strlen(below)) != 0) return 0;
  if (atomic_fetch_add(&growths, 1) + 1 < strtol(from, NULL, 10)) return 0;
  errno = ENOSPC;
  return 1;
}

static int path_of(int file, char path[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, 4095);
  if (length <= 0) return 0;
  path[length] = 0;
  return 1;
}

static int counts_file(int file) {
  char path[4096];
  return path_of(file, path) && counts(path);
}

static int is_full_file(int file) {
  char path[4096];
  return path_of(file, path) && is_full(path);
}

static void end(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define BEFORE(path) do { if (counts(path)) end(); } while (0)
#define BEFORE_FILE(file) do { if (counts_file(file)) end(); } while (0)

int rename(const char *from, const char *to) { BEFORE(to); return REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { BEFORE(path); if (is_full(path)) return -1; return REAL(mkdir)(path, mode); }
int symlink(const char *target, const char *path) { BEFORE(path); if (is_full(path)) return -1; return REAL(symlink)(target, path); }
int link(const char *from, const char *to) { BEFORE(to); return REAL(link)(from, to); }
int unlink(const char *path) { BEFORE(path); return REAL(unlink)(path); }
int rmdir(const char *path) { BEFORE(path); return REAL(rmdir)(path); }
int remove(const char *path) { BEFORE(path); return REAL(remove)(path); }
int unlinkat(int folder, const char *path, int flags) {
  if (path[0] == '/') BEFORE(path);
  else BEFORE_FILE(folder);
  return REAL(unlinkat)(folder, path, flags);
}
int chmod(const char *path, mode_t mode) { BEFORE(path); return REAL(chmod)(path, mode); }
int fchmod(int file, mode_t mode) { BEFORE_FILE(file); return REAL(fchmod)(file, mode); }
int ftruncate(int file, off_t length) { BEFORE_FILE(file); return REAL(ftruncate)(file, length); }
int ftruncate64(int file, off64_t length) { BEFORE_FILE(file); return REAL(ftruncate64)(file, length); }
int fsync(int file) { BEFORE_FILE(file); return REAL(fsync)(file); }
int fdatasync(int file) { BEFORE_FILE(file); return REAL(fdatasync)(file); }

#define OPENS(name)                                                   \
  int name(const char *path, int flags, ...) {                        \
    mode_t mode = 0;                                                  \
    if (flags & O_CREAT) {                                            \
      va_list more;                                                   \
      va_start(more, flags);                                          \
      mode = va_arg(more, mode_t);                                    \
      va_end(more);                                                   \
    }                                                                 \
    if (flags & (O_CREAT | O_TRUNC)) BEFORE(path);                    \
    if ((flags & O_CREAT) && is_full(path)) return -1;                \
    return REAL(name)(path, flags, mode);                             \
  }
OPENS(open)
OPENS(open64)

ssize_t write(int file, const void *bytes, size_t length) {
  if (counts_file(file)) {
    REAL(write)(file, bytes, length / 2);
    end();
  }
  if (is_full_file(file)) return -1;
  return REAL(write)(file, bytes, length);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
  if (counts_file(file)) {
    REAL(pwrite)(file, bytes, length / 2, at);
    end();
  }
  if (is_full_file(file)) return -1;
  return REAL(pwrite)(file, bytes, length, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  if (counts_file(file)) {
    REAL(pwrite64)(file, bytes, length / 2, at);
    end();
  }
  if (is_full_file(file)) return -1;
  return REAL(pwrite64)(file, bytes, length, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  BEFORE_FILE(file);
  if (is_full_file(file)) return -1;
  return REAL(writev)(file, parts, count);
}
