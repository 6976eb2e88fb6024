/** Opens a terminal device without blocking, locks it for us alone and applies the settings. */
#include "opening.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/serial.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/** Majors 136..143 are the device ends of Unix98 ptys. */
static bool isPty(const struct stat& status) { return major(status.st_rdev) >= 136 && major(status.st_rdev) <= 143; }

static Failure lockDescriptor(Opened* opened, const struct stat& status) {
  if (flock(opened->fd, LOCK_EX | LOCK_NB) < 0) return failedCall("flock", errno == EWOULDBLOCK ? EBUSY : errno);
  // Not on a pty: its owner may keep the device end open, and the mark of a killed user would never go away.
  if (isPty(status)) return {};
  if (ioctl(opened->fd, TIOCEXCL) < 0) return failedCall("TIOCEXCL", errno);
  opened->isExclusive = true;
  return {};
}

static void probe(int fd, int* unsupported) {
  struct serial_icounter_struct counts;
  int lines = 0;
  if (ioctl(fd, TIOCGICOUNT, &counts) < 0) *unsupported |= kDriverCounts;
  if (ioctl(fd, TIOCMGET, &lines) < 0) *unsupported |= kModemLines;
}

static Failure prepare(const OpenOrder& order, Opened* opened) {
  struct stat status;
  unsigned baud = 0;
  if (fstat(opened->fd, &status) < 0) return failedCall("fstat", errno);
  if (!S_ISCHR(status.st_mode)) return failedCall("fstat", ENOTTY);
  Failure failure = readBaud(opened->fd, &baud);
  if (failure.failed()) return failure;
  if (order.lock) failure = lockDescriptor(opened, status);
  if (failure.failed()) return failure;
  failure = applySettings(opened->fd, order.settings, &opened->unsupported);
  if (failure.failed()) return failure;
  probe(opened->fd, &opened->unsupported);
  // What came in before we set the rate is noise.
  ioctl(opened->fd, TCFLSH, TCIFLUSH);
  return {};
}

static void giveBack(Opened* opened) {
  if (opened->fd >= 0) {
    if (opened->isExclusive) ioctl(opened->fd, TIOCNXCL);
    close(opened->fd);
  }
  releaseUucpLock(&opened->lock);
  *opened = Opened{};
}

Failure openDevice(const OpenOrder& order, Opened* opened) {
  char real[PATH_MAX];
  if (realpath(order.path.c_str(), real) == nullptr) return failedCall("realpath", errno);
  // The lock file comes first: opening alone may already pulse DTR on a line that another program uses.
  if (order.lock && !order.lockFolder.empty()) {
    Failure failure = takeUucpLock(order.lockFolder, real, &opened->lock);
    if (failure.failed()) return failure;
  }
  opened->fd = open(real, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (opened->fd < 0) {
    Failure failure = failedCall("open", errno);
    giveBack(opened);
    return failure;
  }
  Failure failure = prepare(order, opened);
  if (failure.failed()) giveBack(opened);
  return failure;
}
