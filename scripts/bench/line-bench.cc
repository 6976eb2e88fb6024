/**
 * Owns one pty and measures a bridge between it and a TCP port.
 *
 * Prints the device path, then answers commands from stdin, one line of JSON each:
 *   rtt PORT SIZE COUNT       TCP -> line -> echo -> TCP; microseconds at p50 and p99
 *   line-to-tcp PORT BYTES    MB/s, bytes written into the pty, read from TCP
 *   tcp-to-line PORT BYTES    MB/s, the other way
 *   telnet-rtt, telnet-line-to-tcp, telnet-tcp-to-line   the same over Telnet: FF twice, commands passed over
 *   modbus PORT REGISTERS COUNT   Modbus TCP reads of holding registers a second, answered by a unit on the pty
 *   mstp MAC COUNT   passes COUNT tokens to that node; how soon it speaks, in microseconds, how many were late or dropped
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
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "line-bench-modbus.h"
#include "line-bench-mstp.h"
#include "line-bench-telnet.h"

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
  return line;  // the device end stays open too, so that the bridge under test can come and go
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

/** Gives the bridge time to open the device after connecting, then empties both ends. */
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

static void roundTrip(int line, int port, size_t size, size_t count, bool isTelnet) {
  int tcp = dial(port);
  if (tcp < 0) {
    printf("{\"error\":\"no connection\"}\n");
    return;
  }
  settle(line, tcp);
  std::thread far(echo, line, size * count);
  std::vector<unsigned char> sent(size), got(2 * size);
  std::vector<double> tookUs;
  Telnet telnet;
  const char* error = nullptr;
  for (size_t i = 0; i < count && error == nullptr; i++) {
    for (size_t at = 0; at < size; at++) sent[at] = static_cast<unsigned char>(i * 31 + at);
    std::vector<unsigned char> out = isTelnet ? Telnet::frame(sent.data(), size) : sent;
    double startUs = nowUs();
    if (!writeAll(tcp, out.data(), out.size())) error = "write";
    for (size_t have = 0; have < size && error == nullptr;) {
      ssize_t n = readSome(tcp, got.data() + have, got.size() - have);
      if (n <= 0) error = "silence";
      else have += isTelnet ? telnet.data(got.data() + have, static_cast<size_t>(n)) : static_cast<size_t>(n);
    }
    if (error == nullptr && !std::equal(sent.begin(), sent.end(), got.begin())) error = "wrong bytes";
    tookUs.push_back(nowUs() - startUs);
  }
  close(tcp);
  far.join();
  std::sort(tookUs.begin(), tookUs.end());
  if (error != nullptr) printf("{\"error\":\"%s after %zu\"}\n", error, tookUs.size());
  else printf("{\"p50\":%.1f,\"p99\":%.1f}\n", tookUs[count / 2], tookUs[count * 99 / 100]);
}

static void sendPattern(int fd, size_t total, bool isTelnet) {
  unsigned char bytes[4096];
  for (size_t done = 0; done < total;) {
    size_t size = std::min(sizeof bytes, total - done);
    for (size_t at = 0; at < size; at++) bytes[at] = static_cast<unsigned char>((done + at) * 7 >> 2);
    std::vector<unsigned char> framed;
    if (isTelnet) framed = Telnet::frame(bytes, size);
    if (!(isTelnet ? writeAll(fd, framed.data(), framed.size()) : writeAll(fd, bytes, size))) return;
    done += size;
  }
}

static void throughput(int line, int port, size_t total, bool isFromLine, bool isTelnet) {
  int tcp = dial(port);
  if (tcp < 0) {
    printf("{\"error\":\"no connection\"}\n");
    return;
  }
  settle(line, tcp);
  double startUs = nowUs();
  std::thread sender(sendPattern, isFromLine ? line : tcp, total, isTelnet && !isFromLine);
  std::vector<unsigned char> bytes(65536);
  size_t done = 0;
  bool isRight = true;
  Telnet telnet;
  while (done < total) {
    ssize_t n = readSome(isFromLine ? tcp : line, bytes.data(), bytes.size());
    if (n <= 0) break;
    if (isTelnet && isFromLine) n = static_cast<ssize_t>(telnet.data(bytes.data(), static_cast<size_t>(n)));
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

/** A unit that answers reads of holding registers at once, until the far end falls silent or `isDone`. */
static void unit(int line, const std::atomic<bool>* isDone) {
  std::vector<unsigned char> held;
  while (!*isDone) {
    unsigned char bytes[256];
    struct pollfd wait = {line, POLLIN, 0};
    if (poll(&wait, 1, 50) <= 0) continue;
    ssize_t n = read(line, bytes, sizeof bytes);
    if (n <= 0) return;
    held.insert(held.end(), bytes, bytes + n);
    if (held.size() < 8) continue;
    size_t address = held[2] << 8 | held[3], quantity = held[4] << 8 | held[5];
    uint16_t crc = crcOf(held.data(), 6);
    if (held[1] != 3 || quantity > 125 || held[6] != (crc & 0xff) || held[7] != crc >> 8) return;
    std::vector<unsigned char> reply(5 + 2 * quantity);
    reply[0] = held[0];
    reply[1] = 3;
    reply[2] = static_cast<unsigned char>(2 * quantity);
    for (size_t at = 0; at < quantity; at++) putWord(&reply[3 + 2 * at], registerAt(address + at));
    crc = crcOf(reply.data(), reply.size() - 2);
    reply[reply.size() - 2] = static_cast<unsigned char>(crc);
    reply[reply.size() - 1] = static_cast<unsigned char>(crc >> 8);
    if (!writeAll(line, reply.data(), reply.size())) return;
    held.erase(held.begin(), held.begin() + 8);
  }
}

/** One read; the reply is compared whole. */
static bool readRegisters(int tcp, size_t transaction, size_t quantity) {
  size_t address = transaction % 1000;
  unsigned char request[12] = {};
  putWord(request, transaction);
  request[5] = 6;
  request[6] = 1;
  request[7] = 3;
  putWord(request + 8, address);
  putWord(request + 10, quantity);
  if (!writeAll(tcp, request, sizeof request)) return false;
  std::vector<unsigned char> wanted(9 + 2 * quantity), got(wanted.size());
  putWord(&wanted[0], transaction);
  putWord(&wanted[4], 3 + 2 * quantity);
  wanted[6] = 1;
  wanted[7] = 3;
  wanted[8] = static_cast<unsigned char>(2 * quantity);
  for (size_t at = 0; at < quantity; at++) putWord(&wanted[9 + 2 * at], registerAt(address + at));
  for (size_t have = 0; have < got.size();) {
    ssize_t n = readSome(tcp, got.data() + have, got.size() - have);
    if (n <= 0) return false;
    have += static_cast<size_t>(n);
  }
  return got == wanted;
}

/** The first reads are not counted: a gateway pauses after opening the line. */
static void modbus(int line, int port, size_t quantity, size_t count) {
  int tcp = dial(port);
  if (tcp < 0) {
    printf("{\"error\":\"no connection\"}\n");
    return;
  }
  std::atomic<bool> isDone = false;
  std::thread far(unit, line, &isDone);
  const size_t warmUp = 20;
  bool isRight = true;
  double startUs = 0;
  size_t done = 0;
  for (; done < warmUp + count && isRight; done++) {
    if (done == warmUp) startUs = nowUs();
    isRight = readRegisters(tcp, done, quantity);
  }
  double tookUs = nowUs() - startUs;
  isDone = true;
  far.join();
  close(tcp);
  if (isRight) printf("{\"rps\":%.1f}\n", count / tookUs * 1e6);
  else printf("{\"error\":\"no reply, or a wrong one, to read %zu\"}\n", done);
}

int main() {
  signal(SIGPIPE, SIG_IGN);  // a bridge may hang up, which is a result too
  char name[128], command[32];
  int line = openLine(name);
  printf("%s\n", name);
  fflush(stdout);
  int port;
  size_t a, b = 0;
  char text[256];
  while (fgets(text, sizeof text, stdin) != nullptr) {
    int count = sscanf(text, "%31s %d %zu %zu", command, &port, &a, &b);
    bool isTelnet = strncmp(command, "telnet-", 7) == 0;
    const char* what = isTelnet ? command + 7 : command;
    if (count == 4 && strcmp(what, "rtt") == 0) roundTrip(line, port, a, b, isTelnet);
    else if (count == 4 && strcmp(command, "modbus") == 0) modbus(line, port, a, b);
    else if (count == 3 && strcmp(command, "mstp") == 0) tokens(line, port, a);
    else if (count == 3) throughput(line, port, a, strcmp(what, "line-to-tcp") == 0, isTelnet);
    else printf("{\"error\":\"what?\"}\n");
    fflush(stdout);
  }
  return 0;
}
