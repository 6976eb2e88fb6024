/** Reads, writes and replaces small files. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

std::string readLine(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  char text[256];
  ssize_t length = read(fd, text, sizeof text);
  close(fd);
  std::string line(text, length > 0 ? static_cast<size_t>(length) : 0);
  return line.substr(0, line.find('\n'));
}

int writeAttribute(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno;
  ssize_t length = write(fd, text.data(), text.size());
  int err = length == static_cast<ssize_t>(text.size()) ? 0 : length < 0 ? errno : EIO;
  close(fd);
  return err;
}

std::string linkedName(const std::string& path) {
  char target[PATH_MAX];
  ssize_t length = readlink(path.c_str(), target, sizeof target);
  if (length <= 0) return "";
  std::string text(target, static_cast<size_t>(length));
  return text.substr(text.rfind('/') + 1);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/** Writes all of it and makes it durable. */
static int fill(int fd, const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    ssize_t length = write(fd, text.data() + at, text.size() - at);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno;
    at += static_cast<size_t>(length);
  }
  return fchmod(fd, 0644) < 0 || fsync(fd) < 0 ? errno : 0;
}

int replaceFile(const std::string& folder, const std::string& name, const std::string& text) {
  int inFolder = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (inFolder < 0) return errno;
  // A name of its own for each process: two requests at once must not write into one draft.
  std::string draft = "." + name + "." + std::to_string(getpid());
  int fd = openat(inFolder, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  int err = fd < 0 ? errno : fill(fd, text);
  if (fd >= 0) close(fd);
  if (err == 0 && renameat(inFolder, draft.c_str(), inFolder, name.c_str()) < 0) err = errno;
  if (err == 0 && fsync(inFolder) < 0) err = errno;
  if (err != 0) unlinkat(inFolder, draft.c_str(), 0);
  close(inFolder);
  return err;
}
