/** Reads one line and the descriptor that may come with it, within a time and a size. */
#include "request.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "verbs.h"

/** The longest request is `install` with a path. */
static const size_t LONGEST_LINE = 1024;
static const long READ_MS = 2000;
/** Room for more than the one that is allowed: those too many are closed here, not left to chance. */
static const int MOST_DESCRIPTORS = 8;

/** What has come so far. */
struct Incoming {
  std::string text;
  std::vector<int> descriptors;
  bool isCut = false;

  ~Incoming() {
    for (int fd : descriptors) close(fd);
  }
};

static long nowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void takeDescriptors(struct msghdr* message, Incoming* incoming) {
  for (struct cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t at = 0; at < count; at++) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + at * sizeof fd, sizeof fd);
      incoming->descriptors.push_back(fd);
    }
  }
}

/** One piece. @returns bytes read, 0 at the end, -1 with errno */
static ssize_t receive(int connection, Incoming* incoming) {
  char text[LONGEST_LINE];
  alignas(struct cmsghdr) char control[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
  struct iovec into = {text, sizeof text};
  struct msghdr message = {};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t length = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (length < 0) return -1;
  takeDescriptors(&message, incoming);
  if ((message.msg_flags & MSG_CTRUNC) != 0) incoming->isCut = true;
  incoming->text.append(text, static_cast<size_t>(length));
  return length;
}

/** Reads up to the end of the line. */
static Answer readRequest(int connection, Incoming* incoming) {
  const long endMs = nowMs() + READ_MS;
  for (;;) {
    long leftMs = endMs - nowMs();
    struct pollfd ready = {connection, POLLIN, 0};
    int count = leftMs <= 0 ? 0 : poll(&ready, 1, static_cast<int>(leftMs));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return refused("too_slow", "the request did not come within two seconds");
    ssize_t length = receive(connection, incoming);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (length <= 0) return refused("bad_request", "the connection ended before the line did");
    if (incoming->isCut || incoming->descriptors.size() > 1)
      return refused("bad_descriptor", "more than one descriptor came with the request");
    size_t end = incoming->text.find('\n');
    if (end == std::string::npos && incoming->text.size() < LONGEST_LINE) continue;
    if (end == std::string::npos || end >= LONGEST_LINE) return refused("bad_request", "the line is too long");
    if (end + 1 != incoming->text.size()) return refused("bad_request", "one request a connection");
    incoming->text.resize(end);
    return done();
  }
}

/** Words between single spaces, of printable ASCII; none where the line is anything else. */
static std::vector<std::string> wordsOf(const std::string& line) {
  std::vector<std::string> words(1);
  for (char c : line) {
    if (c == ' ') words.emplace_back();
    else if (c < '!' || c > '~') return {};
    else words.back() += c;
  }
  for (const std::string& word : words)
    if (word.empty()) return {};
  return words;
}

static Answer answerTo(const Options& options, const Incoming& incoming, uid_t caller) {
  Request request = {wordsOf(incoming.text), incoming.descriptors.empty() ? -1 : incoming.descriptors[0], caller};
  if (request.words.empty()) return refused("bad_request", "expected words of printable ASCII between single spaces");
  Answer answer = carryOut(options, request);
  // Root did something, or was asked for what it does not do: both belong in the journal.
  syslog(answer.isOk() ? LOG_NOTICE : LOG_WARNING, "asked by uid %u: %s: %s", static_cast<unsigned>(caller),
         incoming.text.c_str(), answer.isOk() ? "done" : lineOf(answer).c_str());
  return answer;
}

void serve(const Options& options, int connection, uid_t caller) {
  Incoming incoming;
  Answer read = readRequest(connection, &incoming);
  std::string line = lineOf(read.isOk() ? answerTo(options, incoming, caller) : read);
  // One line always has room in the socket's buffer: a caller who does not read holds nobody up.
  send(connection, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}
