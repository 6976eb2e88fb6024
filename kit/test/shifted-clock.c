/*
 * Gives a process clocks of its own: LD_PRELOAD it, and CLOCK_REALTIME and CLOCK_MONOTONIC run at another rate, and the
 * time of day is another too, for the process and for the kernel's time stamps of its packets.
 *
 *   CLOCK_PPB         how much faster both clocks run, parts in 1e9
 *   CLOCK_BASE_NS     the instant of CLOCK_MONOTONIC at which they read the same
 *   CLOCK_OFFSET_NS   how far the time of day is ahead of the machine's
 *   CLOCK_FILE        two numbers of 64 bits that a test changes while the process runs: how far the time of day was
 *                     stepped, and how much time has passed for both clocks beyond the machine's; ns both
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* Needs struct timespec. */
#include <linux/errqueue.h>

#define SECOND 1000000000LL

static int64_t ppb, base, offset;
static const volatile int64_t *told;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static ssize_t (*real_recvmsg)(int, struct msghdr *, int);

static int64_t number(const char *name) {
  const char *text = getenv(name);
  return text ? strtoll(text, NULL, 10) : 0;
}

static void map_file(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  void *at = file < 0 ? MAP_FAILED : mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  /* Without the file the clock would not follow the test, and tests could pass that should not. */
  if (at == MAP_FAILED) abort();
  close(file);
  told = at;
}

static int64_t stepped(void) { return told ? told[0] : 0; }
static int64_t passed(void) { return told ? told[1] : 0; }

__attribute__((constructor)) static void begin(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_nanosleep = dlsym(RTLD_NEXT, "clock_nanosleep");
  real_recvmsg = dlsym(RTLD_NEXT, "recvmsg");
  ppb = number("CLOCK_PPB");
  base = number("CLOCK_BASE_NS");
  offset = number("CLOCK_OFFSET_NS");
  if (!told && getenv("CLOCK_FILE")) map_file(getenv("CLOCK_FILE"));
}

static int64_t ns_of(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static void set(struct timespec *time, int64_t ns) {
  time->tv_sec = ns / SECOND;
  time->tv_nsec = ns % SECOND;
}

static int64_t drift_at(int64_t monotonic) { return (int64_t)((__int128)(monotonic - base) * ppb / SECOND); }

static int64_t monotonic_now(void) {
  struct timespec now;
  real_gettime(CLOCK_MONOTONIC, &now);
  return ns_of(&now);
}

int clock_gettime(clockid_t id, struct timespec *time) {
  if (!real_gettime) begin();
  int result = real_gettime(id, time);
  if (result || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC)) return result;
  /* Both are treated as one instant: the time between the two calls is too short to drift. */
  int64_t drift = drift_at(id == CLOCK_MONOTONIC ? ns_of(time) : monotonic_now());
  set(time, ns_of(time) + drift + passed() + (id == CLOCK_REALTIME ? offset + stepped() : 0));
  return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *request, struct timespec *remain) {
  if (id != CLOCK_MONOTONIC || !(flags & TIMER_ABSTIME)) return real_nanosleep(id, flags, request, remain);
  int64_t shown = ns_of(request) - passed();
  struct timespec real;
  set(&real, (int64_t)(((__int128)(shown - base) * SECOND) / (SECOND + ppb)) + base);
  return real_nanosleep(id, flags, &real, remain);
}

/* The kernel stamps packets with its own CLOCK_REALTIME. */
ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t length = real_recvmsg(socket, message, flags);
  if (length < 0) return length;
  for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one; one = CMSG_NXTHDR(message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SO_TIMESTAMPING) continue;
    struct scm_timestamping *stamps = (struct scm_timestamping *)CMSG_DATA(one);
    if (ns_of(&stamps->ts[0]) == 0) continue;
    struct timespec real;
    real_gettime(CLOCK_REALTIME, &real);
    int64_t age = ns_of(&real) - ns_of(&stamps->ts[0]);
    set(&stamps->ts[0], ns_of(&stamps->ts[0]) + drift_at(monotonic_now() - age) + passed() + offset + stepped());
  }
  return length;
}
