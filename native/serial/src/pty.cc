/** Opens both ends of a pseudo terminal. */
#include "pty.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static Failure prepare(int fd, int* deviceFd, std::string* path) {
  unsigned number = 0;
  int unlocked = 0;
  if (ioctl(fd, TIOCGPTN, &number) < 0) return failedCall("TIOCGPTN", errno);
  if (ioctl(fd, TIOCSPTLCK, &unlocked) < 0) return failedCall("TIOCSPTLCK", errno);
  *path = "/dev/pts/" + std::to_string(number);
  *deviceFd = open(path->c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (*deviceFd < 0) return failedCall("open", errno);
  // The plain termios: a pty needs no rate, and qemu-user knows this one.
  struct termios raw;
  if (ioctl(*deviceFd, TCGETS, &raw) < 0) return failedCall("TCGETS", errno);
  // No echo, no lines, no signals: a line carries bytes.
  raw.c_iflag = 0;
  raw.c_oflag = 0;
  raw.c_lflag = 0;
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (ioctl(*deviceFd, TCSETS, &raw) < 0) return failedCall("TCSETS", errno);
  return {};
}

Failure makePty(Opened* opened, std::string* path) {
  opened->fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (opened->fd < 0) return failedCall("open", errno);
  Failure failure = prepare(opened->fd, &opened->deviceFd, path);
  if (failure.failed()) {
    if (opened->deviceFd >= 0) close(opened->deviceFd);
    close(opened->fd);
    *opened = Opened{};
  }
  return failure;
}
