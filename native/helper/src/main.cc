/**
 * The privileged helper of the network board: a socket, a fixed list of verbs, one process for each request. It reads
 * nothing but one line from callers whom the kernel vouches for, and keeps nothing between requests.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "answer.h"
#include "callers.h"
#include "listening.h"
#include "options.h"
#include "request.h"

/** Requests at once; further callers wait in the socket's queue. */
static const int MOST_AT_ONCE = 8;

/** Signals as something to poll: the end of a request, and of ourselves. */
static int openSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/** @returns whether an end was asked for */
static bool readSignals(int signals, int* running) {
  bool isAsked = false;
  struct signalfd_siginfo one;
  while (read(signals, &one, sizeof one) == sizeof one) isAsked = isAsked || one.ssi_signo != SIGCHLD;
  while (*running > 0 && waitpid(-1, nullptr, WNOHANG) > 0) --*running;
  return isAsked;
}

static void turnAway(int connection, uid_t caller) {
  syslog(LOG_WARNING, "uid %u may not ask", static_cast<unsigned>(caller));
  std::string line = lineOf(refused("not_allowed", "this user may not ask the helper"));
  // What was sent and not read would take the answer away from the caller when the connection is closed.
  char unread[1024];
  recv(connection, unread, sizeof unread, MSG_DONTWAIT);
  send(connection, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/** Takes one caller; who may ask gets a process of its own. */
static void takeCaller(const Options& options, int listening, int* running) {
  int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  uid_t caller = static_cast<uid_t>(-1);
  if (!mayAsk(options, connection, &caller)) {
    turnAway(connection, caller);
  } else if (pid_t child = fork(); child == 0) {
    close(listening);
    // SIGTERM ends a request at once; SIGCHLD is nothing to it, as it waits for its own.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    serve(options, connection, caller);
    _exit(0);
  } else if (child > 0) {
    ++*running;
  } else {
    syslog(LOG_ERR, "no process for a request: %s", strerrordesc_np(errno));
  }
  close(connection);
}

static int run(const Options& options, int listening, int signals) {
  int running = 0;
  for (;;) {
    struct pollfd ready[2] = {{signals, POLLIN, 0}, {listening, POLLIN, 0}};
    // Who waits in the queue when this process ends for want of work makes systemd start the next one.
    int timeoutMs = options.idleSeconds > 0 && running == 0 ? options.idleSeconds * 1000 : -1;
    int count = poll(ready, running < MOST_AT_ONCE ? 2 : 1, timeoutMs);
    if (count == 0) return 0;
    if (count < 0 && errno != EINTR) return 1;
    if (readSignals(signals, &running)) return 0;
    if (running < MOST_AT_ONCE && (ready[1].revents & POLLIN) != 0) takeCaller(options, listening, &running);
  }
}

int main(int count, char** words) {
  Options options;
  if (!readOptions(count, words, &options)) return 2;
  signal(SIGPIPE, SIG_IGN);
  openlog("plantroom-helper", options.listenPath.empty() ? 0 : LOG_PERROR, LOG_DAEMON);
  int listening = openListening(options);
  if (listening < 0) return 1;
  int signals = openSignals();
  if (signals < 0) return 1;
  int code = run(options, listening, signals);
  if (!options.listenPath.empty()) unlink(options.listenPath.c_str());
  return code;
}
