/**
 * Owns one pty and measures a bridge between it and a TCP port.
 *
 * Prints the device path, then answers commands from stdin, one line of JSON each:
 *   rtt PORT SIZE COUNT       TCP -> line -> echo -> TCP; microseconds at p50 and p99
 *   line-to-tcp PORT BYTES    MB/s, bytes written into the pty, read from TCP
 *   tcp-to-line PORT BYTES    MB/s, the other way
 * Each byte stream carries a pattern and is compared: a bridge that loses or turns bytes fails.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

static const int kWaitMs = 5000;

static double nowUs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int openLine(char* name) {
  int line, device;
  struct termios raw = {};
  cfmakeraw(&raw);
  raw.c_cflag = B115200 | CS8 | CREAD | CLOCAL;
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (openpty(&line, &device, name, &raw, nullptr) < 0) exit(1);
  return line;  // the device end stays open too, so that the bridge under test may come and go
}

static int dial(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int attempt = 0; attempt < 200; attempt++) {
    if (connect(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address) == 0) return fd;
    usleep(20000);
  }
  close(fd);
  return -1;
}

/** Reads up to `size`; 0 after kWaitMs of silence. */
static ssize_t readSome(int fd, unsigned char* to, size_t size) {
  struct pollfd wait = {fd, POLLIN, 0};
  if (poll(&wait, 1, kWaitMs) <= 0) return 0;
  return read(fd, to, size);
}

static bool writeAll(int fd, const unsigned char* from, size_t size) {
  while (size > 0) {
    struct pollfd wait = {fd, POLLOUT, 0};
    if (poll(&wait, 1, kWaitMs) <= 0) return false;
    ssize_t n = write(fd, from, size);
    if (n < 0) {
      if (errno == EAGAIN || errno == EINTR) continue;
      return false;
    }
    from += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/** Gives the bridge time to have opened the device after the connection was made, and empties both ends. */
static void settle(int line, int tcp) {
  unsigned char scrap[4096];
  unsigned char probe = 'p';
  for (int attempt = 0; attempt < 100; attempt++) {
    struct pollfd wait = {line, POLLIN, 0};
    if (write(tcp, &probe, 1) < 0) break;
    if (poll(&wait, 1, 100) > 0) break;
  }
  for (int fd : {line, tcp}) {
    struct pollfd wait = {fd, POLLIN, 0};
    while (poll(&wait, 1, 100) > 0 && read(fd, scrap, sizeof scrap) > 0) {
    }
  }
}

static void echo(int line, size_t total) {
  unsigned char bytes[4096];
  for (size_t done = 0; done < total;) {
    ssize_t n = readSome(line, bytes, sizeof bytes);
    if (n <= 0 || !writeAll(line, bytes, static_cast<size_t>(n))) return;
    done += static_cast<size_t>(n);
  }
}

static void roundTrip(int line, int port, size_t size, size_t count) {
  int tcp = dial(port);
  if (tcp < 0) {
    printf("{\"error\":\"no connection\"}\n");
    return;
  }
  settle(line, tcp);
  std::thread far(echo, line, size * count);
  std::vector<unsigned char> sent(size), got(size);
  std::vector<double> tookUs;
  const char* error = nullptr;
  for (size_t i = 0; i < count && error == nullptr; i++) {
    for (size_t at = 0; at < size; at++) sent[at] = static_cast<unsigned char>(i * 31 + at);
    double startUs = nowUs();
    if (!writeAll(tcp, sent.data(), size)) error = "write";
    for (size_t have = 0; have < size && error == nullptr;) {
      ssize_t n = readSome(tcp, got.data() + have, size - have);
      if (n <= 0) error = "silence";
      else have += static_cast<size_t>(n);
    }
    if (error == nullptr && sent != got) error = "wrong bytes";
    tookUs.push_back(nowUs() - startUs);
  }
  close(tcp);
  far.join();
  std::sort(tookUs.begin(), tookUs.end());
  if (error != nullptr) printf("{\"error\":\"%s after %zu\"}\n", error, tookUs.size());
  else printf("{\"p50\":%.1f,\"p99\":%.1f}\n", tookUs[count / 2], tookUs[count * 99 / 100]);
}

static void sendPattern(int fd, size_t total) {
  unsigned char bytes[4096];
  for (size_t done = 0; done < total;) {
    size_t size = std::min(sizeof bytes, total - done);
    for (size_t at = 0; at < size; at++) bytes[at] = static_cast<unsigned char>((done + at) * 7 >> 2);
    if (!writeAll(fd, bytes, size)) return;
    done += size;
  }
}

static void throughput(int line, int port, size_t total, bool isFromLine) {
  int tcp = dial(port);
  if (tcp < 0) {
    printf("{\"error\":\"no connection\"}\n");
    return;
  }
  settle(line, tcp);
  double startUs = nowUs();
  std::thread sender(sendPattern, isFromLine ? line : tcp, total);
  std::vector<unsigned char> bytes(65536);
  size_t done = 0;
  bool isRight = true;
  while (done < total) {
    ssize_t n = readSome(isFromLine ? tcp : line, bytes.data(), bytes.size());
    if (n <= 0) break;
    for (ssize_t at = 0; at < n; at++)
      if (bytes[at] != static_cast<unsigned char>((done + at) * 7 >> 2)) isRight = false;
    done += static_cast<size_t>(n);
  }
  double tookUs = nowUs() - startUs;
  sender.join();
  close(tcp);
  if (done < total || !isRight) printf("{\"error\":\"%s after %zu\"}\n", isRight ? "lost bytes" : "wrong bytes", done);
  else printf("{\"mbps\":%.2f}\n", total / tookUs);
}

int main() {
  signal(SIGPIPE, SIG_IGN);  // a bridge that hangs up is an answer too
  char name[128], command[32];
  int line = openLine(name);
  printf("%s\n", name);
  fflush(stdout);
  int port;
  size_t a, b = 0;
  char text[256];
  while (fgets(text, sizeof text, stdin) != nullptr) {
    int count = sscanf(text, "%31s %d %zu %zu", command, &port, &a, &b);
    if (count == 4 && strcmp(command, "rtt") == 0) roundTrip(line, port, a, b);
    else if (count == 3) throughput(line, port, a, strcmp(command, "line-to-tcp") == 0);
    else printf("{\"error\":\"what?\"}\n");
    fflush(stdout);
  }
  return 0;
}
