/** Runs another program. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const size_t MOST_SAID = 300;
static const int NOT_RUN = 127;

static long nowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/** In the new process: never returns. */
[[noreturn]] static void become(const Command& command, int output) {
  setpgid(0, 0);
  int input = command.input >= 0 ? command.input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(NOT_RUN);
  // What was handed to us by callers or by systemd is nothing for other programs.
  close_range(3, ~0u, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words = {const_cast<char*>(command.program.c_str())};
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char locale[] = "LC_ALL=C.UTF-8";
  char* environment[] = {path, locale, nullptr};
  execve(command.program.c_str(), words.data(), environment);
  _exit(NOT_RUN);
}

/** Where a program's end, and what it prints, are seen. */
struct Ends {
  int signals;
  int output;
};

static void keep(int output, std::string* said, bool* isOpen) {
  char text[512];
  ssize_t length = read(output, text, sizeof text);
  *isOpen = length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
  if (length <= 0) return;
  said->append(text, static_cast<size_t>(length));
  if (said->size() > MOST_SAID) said->erase(0, said->size() - MOST_SAID);
}

/** Keeps the end of what it prints until it ends; what it left running in the background may print on unheard. */
static bool ends(pid_t child, const Ends& from, long endMs, Outcome* outcome) {
  bool isOpen = true;
  for (;;) {
    long leftMs = endMs - nowMs();
    if (leftMs <= 0) return false;
    struct pollfd ready[2] = {{from.signals, POLLIN, 0}, {from.output, POLLIN, 0}};
    int count = poll(ready, isOpen ? 2 : 1, static_cast<int>(leftMs));
    if (count < 0 && errno != EINTR) return false;
    if (count <= 0) continue;
    if (isOpen && ready[1].revents != 0) {
      keep(from.output, &outcome->said, &isOpen);
    } else if (waitpid(child, &outcome->code, WNOHANG) == child) {
      return true;
    } else {
      struct signalfd_siginfo one;
      if (read(from.signals, &one, sizeof one) < 0 && errno != EAGAIN) return false;
    }
  }
}

/** Waits for its end; at `endMs` it is killed, with all that it started. */
static Outcome waitFor(pid_t child, const Ends& from, long endMs) {
  Outcome outcome;
  if (!ends(child, from, endMs, &outcome)) {
    kill(-child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    outcome.code = -3;
  } else if (!WIFEXITED(outcome.code)) {
    outcome.code = -2;
  } else {
    outcome.code = WEXITSTATUS(outcome.code) == NOT_RUN ? -1 : WEXITSTATUS(outcome.code);
  }
  return outcome;
}

/** The end of a child as something to poll. */
static int openSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Outcome runCommand(const Command& command) {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) < 0) return {-1, strerrordesc_np(errno)};
  const Ends from = {openSignals(), pair[0]};
  pid_t child = fork();
  if (child == 0) become(command, pair[1]);
  close(pair[1]);
  // Our end alone: a program would take a full pipe for an error.
  fcntl(from.output, F_SETFL, O_NONBLOCK);
  Outcome outcome = {-1, child < 0 ? strerrordesc_np(errno) : ""};
  if (child > 0) {
    setpgid(child, child);
    outcome = waitFor(child, from, nowMs() + command.seconds * 1000L);
  }
  close(from.output);
  close(from.signals);
  return outcome;
}

std::string sentenceOf(const Command& command, const Outcome& outcome) {
  std::string sentence = command.program;
  if (outcome.code == -1) sentence += " could not be run";
  else if (outcome.code == -2) sentence += " was ended by a signal";
  else if (outcome.code == -3) sentence += " took longer than the " + std::to_string(command.seconds) + " s it has";
  else sentence += " ended with " + std::to_string(outcome.code);
  return outcome.said.empty() ? sentence : sentence + ": " + outcome.said;
}
