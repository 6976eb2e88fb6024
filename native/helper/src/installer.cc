/** Opens the image as one inside the state folder, and runs the installer on it. */
#include "installer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/**
 * Part by part, each looked up in the one before: no link, no `..`, nothing but what lies below the folder. The folder's
 * own path may be a link, as systemd makes it. By hand, since containers refuse openat2.
 */
static int openBelow(const std::string& folder, const std::string& path) {
  errno = EXDEV;
  if (path.size() <= folder.size() + 1 || path.compare(0, folder.size() + 1, folder + "/") != 0) return -1;
  Opened inside(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (size_t at = folder.size() + 1; inside.fd >= 0;) {
    size_t slash = path.find('/', at);
    std::string part = path.substr(at, slash == std::string::npos ? slash : slash - at);
    errno = EXDEV;
    if (part.empty() || part == "." || part == "..") return -1;
    if (slash == std::string::npos)
      return openat(inside.fd, part.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int next = openat(inside.fd, part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    close(inside.fd);
    inside.fd = next;
    at = slash + 1;
  }
  return -1;
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

/**
 * Whether a file in the state folder is the caller's. From systemd 257 on the folder of a dynamic user is mapped: on disk, and
 * here, it and all in it belong to nobody, and only in the board's own view to the caller.
 * @source systemd.exec(5), DynamicUser; seen in Debian 13, where a file of the board's has the owner 65534
 */
static bool isOfCaller(const Options& options, const struct stat& file, uid_t caller) {
  const uid_t NOBODY = 65534;
  if (file.st_uid == caller) return true;
  struct stat folder;
  return file.st_uid == NOBODY && stat(options.stateFolder.c_str(), &folder) == 0 && folder.st_uid == NOBODY;
}

Answer installImage(const Options& options, const std::string& path, uid_t caller) {
  Opened program(open(options.installer.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Answer fit = checkInstaller(options, program.fd);
  if (!fit.isOk()) return fit;
  Opened image(openBelow(options.stateFolder, path));
  if (image.fd < 0) return failedCall("bad_path", "the image cannot be opened below " + options.stateFolder, errno);
  struct stat facts;
  if (fstat(image.fd, &facts) < 0 || !S_ISREG(facts.st_mode) || !isOfCaller(options, facts, caller) || facts.st_size == 0)
    return refused("bad_path", "the image must be a file of whoever asks, with something in it");
  // The lock goes with this process, and with the program: it holds no descriptor of it.
  if (flock(program.fd, LOCK_EX | LOCK_NB) < 0) return refused("busy", "an image is being installed already");
  Command command = {options.installer, {"/dev/stdin"}, options.installSeconds, image.fd};
  Outcome outcome = runCommand(command);
  return outcome.code == 0 ? done() : refused("install_failed", sentenceOf(command, outcome));
}
