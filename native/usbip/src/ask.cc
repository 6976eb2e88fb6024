/** connect, sendmsg with SCM_RIGHTS, recv until the end, each within what is left of the time. */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const int kRetryMs = 20;

static int64_t nowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

/** Waits for `events`, 0 for none but time. @returns false when the time is over */
static bool waitFor(int fd, short events, int64_t untilMs) {
  int64_t leftMs = untilMs - nowMs();
  if (leftMs <= 0) return false;
  struct pollfd one = {fd, events, 0};
  return poll(&one, 1, static_cast<int>(leftMs)) != 0 || nowMs() < untilMs;
}

static Failure connectTo(int fd, const std::string& path, int64_t untilMs) {
  struct sockaddr_un address = {};
  if (path.size() >= sizeof address.sun_path) return failedCall("connect", ENAMETOOLONG);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  while (connect(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address) < 0) {
    // EAGAIN: as many wait to be accepted as may. It cannot be waited for but by trying again.
    if (errno != EAGAIN && errno != EINTR) return failedCall("connect", errno);
    if (nowMs() >= untilMs) return failedCall("connect", ETIMEDOUT);
    poll(nullptr, 0, kRetryMs);
  }
  return Failure{};
}

/** One send: the descriptor goes with its first byte. */
static ssize_t sendPart(int fd, const char* bytes, size_t length, int passedFd) {
  struct iovec part = {const_cast<char*>(bytes), length};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof passedFd)] = {};
  if (passedFd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof passedFd);
    memcpy(CMSG_DATA(rights), &passedFd, sizeof passedFd);
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static Failure sendLine(int fd, const Question& question, int64_t untilMs) {
  int passedFd = question.fd;
  for (size_t at = 0; at < question.line.size();) {
    ssize_t n = sendPart(fd, question.line.data() + at, question.line.size() - at, passedFd);
    if (n > 0) {
      at += static_cast<size_t>(n);
      passedFd = -1;
    } else if (errno != EAGAIN && errno != EINTR) {
      return failedCall("sendmsg", errno);
    } else if (!waitFor(fd, POLLOUT, untilMs)) {
      return failedCall("sendmsg", ETIMEDOUT);
    }
  }
  return Failure{};
}

static Failure readAnswer(int fd, const Question& question, int64_t untilMs, std::string* answer) {
  char part[1024];
  for (;;) {
    ssize_t n = recv(fd, part, sizeof part, 0);
    if (n == 0) return Failure{};
    if (n > 0) {
      if (answer->size() + static_cast<size_t>(n) > question.mostBytes) return failedCall("recv", EMSGSIZE);
      answer->append(part, static_cast<size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
      return failedCall("recv", errno);
    } else if (!waitFor(fd, POLLIN, untilMs)) {
      return failedCall("recv", ETIMEDOUT);
    }
  }
}

Failure ask(const Question& question, std::string* answer) {
  int64_t untilMs = nowMs() + question.timeoutMs;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failedCall("socket", errno);
  Failure failure = connectTo(fd, question.path, untilMs);
  if (!failure.failed()) failure = sendLine(fd, question, untilMs);
  if (!failure.failed()) failure = readAnswer(fd, question, untilMs, answer);
  ::close(fd);
  return failure;
}
