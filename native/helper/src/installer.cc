/** Opens the image as one inside the state folder, and runs the installer on it. */
#include "installer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command.h"

/** A descriptor that closes itself. */
struct Opened {
  int fd;
  explicit Opened(int opened) : fd(opened) {}
  ~Opened() {
    if (fd >= 0) close(fd);
  }
  Opened(const Opened&) = delete;
};

/** Below the folder whatever lies there: no link out of it, no `..`, no device. The folder's own path may be a link. */
static int openBelow(const std::string& folder, const std::string& path) {
  if (path.size() <= folder.size() + 1 || path.compare(0, folder.size() + 1, folder + "/") != 0) {
    errno = EXDEV;
    return -1;
  }
  Opened inside(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (inside.fd < 0) return -1;
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(syscall(SYS_openat2, inside.fd, path.c_str() + folder.size() + 1, &how, sizeof how));
}

/** What root runs is root's: a file that nobody else can write. */
static Answer checkInstaller(const Options& options, int fd) {
  struct stat facts;
  if (fd < 0 && errno == ENOENT) return refused("no_installer", "there is no " + options.installer);
  if (fd < 0 || fstat(fd, &facts) < 0) return failedCall("no_installer", options.installer, errno);
  bool isOurs = facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!S_ISREG(facts.st_mode) || !isOurs || (facts.st_mode & S_IXUSR) == 0)
    return refused("no_installer", options.installer + " must be a program that its owner, root, alone can write");
  return done();
}

Answer installImage(const Options& options, const std::string& path, uid_t caller) {
  Opened program(open(options.installer.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Answer fit = checkInstaller(options, program.fd);
  if (!fit.isOk()) return fit;
  Opened image(openBelow(options.stateFolder, path));
  if (image.fd < 0) return failedCall("bad_path", "the image cannot be opened below " + options.stateFolder, errno);
  struct stat facts;
  if (fstat(image.fd, &facts) < 0 || !S_ISREG(facts.st_mode) || facts.st_uid != caller || facts.st_size == 0)
    return refused("bad_path", "the image must be a file of whoever asks, with something in it");
  // The lock goes with this process, and with the program: it holds no descriptor of it.
  if (flock(program.fd, LOCK_EX | LOCK_NB) < 0) return refused("busy", "an image is being installed already");
  Command command = {options.installer, {"/dev/stdin"}, options.installSeconds, image.fd};
  Outcome outcome = runCommand(command);
  return outcome.code == 0 ? done() : refused("install_failed", sentenceOf(command, outcome));
}
