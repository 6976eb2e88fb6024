/**
 * Owns many ptys and loads a gateway on all of them at once, both ways, as fast as 115200 baud carries.
 *
 *     load-bench LINES
 *
 * Prints the device paths, one a line, then answers commands from stdin, one line of JSON each:
 *   load SECONDS PORT...      one TCP port for each line
 * Devices send as a UART hands bytes up (8 at a time, the trigger of its FIFO), hosts in messages of 64 bytes. Every
 * byte of every stream is compared; every 64th is an LF, so that the streams are frames of 64 bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static const size_t kPiece = 8;
static const size_t kFrame = 64;
/** 10 bits per byte. */
static const double kBytesPerSecond = 11520;
/** Lines send in turn, as real ones do not send at the same instant. */
static const size_t kGroups = 4;
static const double kWaitUs = 5e6;

static double nowUs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static unsigned char byteAt(size_t line, size_t at) {
  if (at % kFrame == kFrame - 1) return '\n';
  return static_cast<unsigned char>('0' + (line * 11 + at * 7 / 4) % 64);
}

/** One direction of one line. */
struct Stream {
  size_t line;
  int from;
  int to;
  size_t sent = 0;
  std::atomic<size_t> got = 0;
  bool isWrong = false;

  Stream(size_t line, int from, int to) : line(line), from(from), to(to) {}

  bool send(size_t size) {
    unsigned char bytes[kFrame];
    for (size_t at = 0; at < size; at++) bytes[at] = byteAt(line, sent + at);
    for (size_t done = 0; done < size;) {
      ssize_t n = write(from, bytes + done, size - done);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (n > 0) done += static_cast<size_t>(n);
    }
    sent += size;
    return true;
  }

  void receive() {
    unsigned char bytes[4096];
    ssize_t n = read(to, bytes, sizeof bytes);
    for (ssize_t at = 0; at < n; at++)
      if (bytes[at] != byteAt(line, got + static_cast<size_t>(at))) isWrong = true;
    if (n > 0) got += static_cast<size_t>(n);
  }
};

static int openLine() {
  int line, device;
  char name[128];
  struct termios raw = {};
  cfmakeraw(&raw);
  raw.c_cflag = B115200 | CS8 | CREAD | CLOCAL;
  raw.c_cc[VMIN] = 1;
  if (openpty(&line, &device, name, &raw, nullptr) < 0) exit(1);
  printf("%s\n", name);
  return line;
}

static int dial(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

static void sendAll(std::vector<Stream*>* streams, double seconds, std::atomic<bool>* isDone) {
  prctl(PR_SET_TIMERSLACK, 1000);
  const double turnUs = 1e6 * kPiece / kBytesPerSecond / kGroups;
  const size_t turns = static_cast<size_t>(seconds * 1e6 / turnUs / kGroups / kPiece) * kGroups * kPiece;
  double startUs = nowUs();
  for (size_t turn = 0; turn < turns; turn++) {
    double waitUs = startUs + static_cast<double>(turn) * turnUs - nowUs();
    if (waitUs > 1) usleep(static_cast<useconds_t>(waitUs));
    size_t round = turn / kGroups;
    for (size_t at = turn % kGroups; at < streams->size() / 2; at += kGroups) {
      bool isFrameDue = round % (kFrame / kPiece) == at % (kFrame / kPiece);
      if (!(*streams)[2 * at]->send(kPiece)) break;
      if (isFrameDue && !(*streams)[2 * at + 1]->send(kFrame)) break;
    }
  }
  *isDone = true;
}

static void load(const std::vector<int>& lines, const std::vector<int>& ports, double seconds) {
  std::vector<Stream*> streams;
  std::vector<struct pollfd> waits;
  for (size_t at = 0; at < lines.size(); at++) {
    int tcp = dial(ports[at]);
    if (tcp < 0) {
      printf("{\"error\":\"no connection to line %zu\"}\n", at);
      exit(1);
    }
    streams.push_back(new Stream(at, lines[at], tcp));
    streams.push_back(new Stream(at, tcp, lines[at]));
  }
  usleep(300000);  // until every client has been accepted
  for (Stream* stream : streams) waits.push_back({stream->to, POLLIN, 0});
  std::atomic<bool> isDone = false;
  double startUs = nowUs(), quietUs = startUs;
  std::thread sender(sendAll, &streams, seconds, &isDone);
  size_t missing = 1;
  while (!isDone || (missing > 0 && nowUs() - quietUs < kWaitUs)) {
    if (poll(waits.data(), waits.size(), 100) > 0) quietUs = nowUs();
    for (size_t at = 0; at < waits.size(); at++)
      if (waits[at].revents & POLLIN) streams[at]->receive();
    missing = 0;
    if (isDone)
      for (Stream* stream : streams) missing += stream->sent - stream->got;
  }
  sender.join();
  double tookUs = nowUs() - startUs;
  size_t sent = 0;
  bool isWrong = false;
  for (Stream* stream : streams) {
    sent += stream->sent;
    isWrong = isWrong || stream->isWrong;
  }
  if (isWrong) printf("{\"error\":\"wrong bytes\"}\n");
  else printf("{\"seconds\":%.3f,\"bytes\":%zu,\"lost\":%zu}\n", tookUs / 1e6, sent, missing);
  for (size_t at = 0; at < streams.size(); at += 2) close(streams[at]->to);
  for (Stream* stream : streams) delete stream;
}

int main(int count, char** args) {
  signal(SIGPIPE, SIG_IGN);
  std::vector<int> lines;
  for (int left = count > 1 ? atoi(args[1]) : 0; left > 0; left--) lines.push_back(openLine());
  fflush(stdout);
  char text[4096];
  while (fgets(text, sizeof text, stdin) != nullptr) {
    std::istringstream words(text);
    std::string command;
    double seconds = 0;
    words >> command >> seconds;
    std::vector<int> ports;
    for (int port; words >> port;) ports.push_back(port);
    if (command == "load" && ports.size() == lines.size()) load(lines, ports, seconds);
    else printf("{\"error\":\"what?\"}\n");
    fflush(stdout);
  }
  return 0;
}
