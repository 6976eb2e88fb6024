/** Takes over systemd's socket, or makes one. @source sd_listen_fds(3), unix(7) */
#include "listening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const int FIRST_HANDED = 3;
static const int WAITING = 128;

static int fail(const char* what, const char* why) {
  fprintf(stderr, "plantroom-helper: %s: %s\n", what, why);
  return -1;
}

static int takeOver() {
  const char* pid = getenv("LISTEN_PID");
  const char* count = getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || atol(pid) != getpid() || strcmp(count, "1") != 0)
    return fail("systemd handed no socket over", "start it by its socket unit, or with --listen PATH");
  int isListening = 0;
  socklen_t size = sizeof isListening;
  if (getsockopt(FIRST_HANDED, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) < 0 || !isListening)
    return fail("the socket that was handed over", "does not listen");
  fcntl(FIRST_HANDED, F_SETFD, FD_CLOEXEC);
  fcntl(FIRST_HANDED, F_SETFL, fcntl(FIRST_HANDED, F_GETFL) | O_NONBLOCK);
  return FIRST_HANDED;
}

/** Opened to the first group that may ask, or to its owner alone. */
static int openTo(const Options& options, const std::string& path) {
  if (options.groups.empty()) return 0;
  if (chown(path.c_str(), static_cast<uid_t>(-1), options.groups[0]) < 0) return -1;
  return chmod(path.c_str(), 0660);
}

/** The name appears when the socket listens, in place of one that a killed helper left behind. */
static int make(const Options& options) {
  const std::string draft = options.listenPath + ".new";
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (draft.size() >= sizeof address.sun_path)
    return fail(options.listenPath.c_str(), "longer than the name of a socket may be");
  memcpy(address.sun_path, draft.data(), draft.size());
  struct stat there;
  if (lstat(options.listenPath.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode))
    return fail(options.listenPath.c_str(), "is there, and no socket");
  if (lstat(draft.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) unlink(draft.c_str());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail("socket", strerrordesc_np(errno));
  mode_t before = umask(0177);
  int made = bind(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address);
  umask(before);
  if (made < 0 || openTo(options, draft) < 0 || listen(fd, WAITING) < 0 ||
      rename(draft.c_str(), options.listenPath.c_str()) < 0) {
    int err = errno;
    close(fd);
    return fail(options.listenPath.c_str(), strerrordesc_np(err));
  }
  return fd;
}

int openListening(const Options& options) { return options.listenPath.empty() ? takeOver() : make(options); }
