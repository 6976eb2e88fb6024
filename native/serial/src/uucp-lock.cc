/** Takes and gives back UUCP lock files. */
#include "uucp-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mutex>
#include <set>

// Locks of this process: after a restart in a container our own process id in a file may be that of a dead process.
static std::mutex ownMutex;

/** process.exit() runs no clean-up of the environment, but it runs destructors. */
struct OwnLocks : std::set<std::string> {
  ~OwnLocks() {
    for (const std::string& path : *this) unlink(path.c_str());
  }
};
static OwnLocks ownLocks;

static unsigned serialNumber = 0;

static std::string nameOf(const std::string& devicePath) {
  std::string name = devicePath.rfind("/dev/", 0) == 0 ? devicePath.substr(5) : devicePath.substr(1);
  for (char& c : name)
    if (c == '/') c = '_';
  return "LCK.." + name;
}

/** Process id in a lock file: ten digits as text, or four binary bytes of old programs; 0 where unreadable. */
static int holderIn(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  char text[64] = {};
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length == 4) {
    int pid;
    memcpy(&pid, text, 4);
    return pid;
  }
  return length > 0 ? atoi(text) : 0;
}

static bool isAlive(int pid) { return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM); }

static Failure busy(int holder) {
  Failure failure = failedCall("UUCP lock", EBUSY);
  failure.holder = holder;
  return failure;
}

/** A file with our process id, linked under its name at once so that nobody reads it half written. */
static int makeFile(const std::string& folder, const std::string& path) {
  std::string draft = folder + "/LTMP." + std::to_string(getpid()) + "." + std::to_string(++serialNumber);
  int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int err = dprintf(fd, "%10d\n", getpid()) < 0 ? errno : 0;
  close(fd);
  if (err == 0 && link(draft.c_str(), path.c_str()) < 0) err = errno;
  unlink(draft.c_str());
  return err;
}

Failure takeUucpLock(const std::string& folder, const std::string& devicePath, UucpLock* lock) {
  std::string path = folder + "/" + nameOf(devicePath);
  std::lock_guard<std::mutex> guard(ownMutex);
  for (int attempt = 0; attempt < 3; attempt++) {
    int err = makeFile(folder, path);
    if (err == 0) {
      lock->path = path;
      ownLocks.insert(path);
      return {};
    }
    if (err != EEXIST) return {};  // no folder, no permission, disk full: flock and TIOCEXCL still hold
    int holder = holderIn(path);
    bool isHeld = holder == getpid() ? ownLocks.count(path) > 0 : isAlive(holder);
    if (isHeld) return busy(holder);
    if (unlink(path.c_str()) < 0 && errno != ENOENT) return {};  // stale, and not ours to remove
  }
  return busy(0);
}

void releaseUucpLock(UucpLock* lock) {
  if (lock->path.empty()) return;
  std::lock_guard<std::mutex> guard(ownMutex);
  if (holderIn(lock->path) == getpid()) unlink(lock->path.c_str());
  ownLocks.erase(lock->path);
  lock->path.clear();
}
