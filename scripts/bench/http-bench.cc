/**
 * Asks an HTTP server on loopback, cheaper than anything that it measures.
 *
 * Answers commands from stdin, one line of JSON each. FILE holds requests of LENGTH bytes each, which are sent in turn:
 *   rate PORT CONNECTIONS SECONDS LENGTH FILE   connections that stay open, each asks again as soon as it was answered
 *   herd PORT COUNT SECONDS LENGTH FILE         COUNT clients of addresses of their own, evenly in SECONDS; each connects,
 *                                               asks once and leaves; milliseconds from when it was due to its answer
 *   fetch PORT COUNT LENGTH FILE                COUNT answers at once, read and thrown away
 *   send PORT COUNT LENGTH FILE BODY            COUNT uploads at once: a request each, and the file BODY after it
 * Whatever is not answered 200 counts as refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

static const size_t kRead = 1 << 20;
static const size_t kWake = 1 << 19;
static const double kPatienceMs = 60000;
static char readBuffer[kRead];

static double nowMs() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static std::string contentsOf(const std::string& path) {
  std::string text;
  FILE* file = fopen(path.c_str(), "r");
  if (file == nullptr) return text;
  for (size_t n; (n = fread(readBuffer, 1, kRead, file)) > 0;) text.append(readBuffer, n);
  fclose(file);
  return text;
}

/** One connection; `head` gathers until the head of the answer is whole, then `left` is what misses of the body. */
struct Client {
  int fd = -1;
  int body = -1;
  double dueMs = 0;
  std::string request;
  size_t sent = 0;
  std::string head;
  bool isInBody = false;
  size_t left = 0;
  int status = 0;
};

struct Counts {
  size_t answered = 0, refused = 0, failed = 0, bytes = 0;
  std::vector<double> tookMs;
};

static int loop = -1;

static bool dial(Client* client, int port, size_t number, bool ownAddress) {
  client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  if (ownAddress) {
    // 127.1.0.1 and following: each client comes from an address of its own.
    address.sin_addr.s_addr = htonl(0x7f010001 + static_cast<uint32_t>(number));
    bind(client->fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address);
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client->fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address) != 0) return false;
  fcntl(client->fd, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.ptr = client;
  epoll_ctl(loop, EPOLL_CTL_ADD, client->fd, &event);
  return true;
}

static void leave(Client* client) {
  close(client->fd);
  if (client->body >= 0) close(client->body);
  client->fd = client->body = -1;
}

/** Sends what is not sent yet; false if the server has closed. */
static bool push(Client* client) {
  while (client->sent < client->request.size()) {
    const char* from = client->request.data() + client->sent;
    ssize_t n = send(client->fd, from, client->request.size() - client->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    client->sent += static_cast<size_t>(n);
  }
  while (client->body >= 0) {
    ssize_t n = sendfile(client->fd, client->body, nullptr, kRead);
    if (n < 0) return errno == EAGAIN;
    if (n == 0) break;
  }
  return true;
}

/** Is woken by that many bytes, not by each packet: the sender of loopback would pay for each time. */
static void wakeAt(Client* client, size_t bytes) {
  int lowest = static_cast<int>(std::max<size_t>(1, bytes));
  setsockopt(client->fd, SOL_SOCKET, SO_RCVLOWAT, &lowest, sizeof lowest);
}

/** Reads what is there. @returns 1 answer whole, 0 not yet, -1 closed */
static int pull(Client* client, Counts* counts) {
  for (;;) {
    // Of a body nothing is copied: it would take memory bandwidth from what is measured.
    ssize_t n = recv(client->fd, readBuffer, kRead, client->isInBody ? MSG_TRUNC : 0);
    if (n == 0) return -1;
    if (n < 0 && errno == EAGAIN && client->isInBody) wakeAt(client, std::min(client->left, kWake));
    if (n < 0) return errno == EAGAIN ? 0 : -1;
    counts->bytes += static_cast<size_t>(n);
    size_t ofBody = static_cast<size_t>(n);
    if (!client->isInBody) {
      client->head.append(readBuffer, static_cast<size_t>(n));
      size_t end = client->head.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      const char* length = strcasestr(client->head.c_str(), "\r\ncontent-length:");
      client->status = atoi(client->head.c_str() + 9);
      client->left = length == nullptr ? 0 : strtoull(length + 17, nullptr, 10);
      client->isInBody = true;
      ofBody = client->head.size() - end - 4;
    }
    client->left -= std::min(client->left, ofBody);
    if (client->left == 0) return 1;
  }
}

/** Whether the answer of a client is whole now; counts it. */
static bool moved(Client* client, uint32_t events, Counts* counts) {
  if (client->fd < 0) return false;
  bool isOpen = !(events & EPOLLOUT) || push(client);
  int came = events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? pull(client, counts) : 0;
  if (came == 0 && isOpen) return false;
  if (came == 0) came = pull(client, counts);
  if (came < 1) {
    counts->failed++;
    leave(client);
    return true;
  }
  (client->status == 200 ? counts->answered : counts->refused)++;
  counts->tookMs.push_back(nowMs() - client->dueMs);
  return true;
}

static void ask(Client* client, const std::string& request) {
  client->request = request;
  client->sent = 0;
  client->head.clear();
  client->isInBody = false;
  client->dueMs = nowMs();
  push(client);
}

static double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(static_cast<double>(sorted.size()) * part))];
}

static void tell(Counts* counts, double tookMs) {
  std::sort(counts->tookMs.begin(), counts->tookMs.end());
  printf("{\"seconds\":%.4f,\"answered\":%zu,\"refused\":%zu,\"failed\":%zu,\"bytes\":%zu,", tookMs / 1e3,
         counts->answered, counts->refused, counts->failed, counts->bytes);
  printf("\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}\n", quantile(counts->tookMs, 0.5), quantile(counts->tookMs, 0.99),
         quantile(counts->tookMs, 1));
}

int main() {
  signal(SIGPIPE, SIG_IGN);
  loop = epoll_create1(EPOLL_CLOEXEC);
  char line[4096];
  while (fgets(line, sizeof line, stdin) != nullptr) {
    std::istringstream words(line);
    std::string command, file, body;
    int port = 0;
    size_t count = 0, length = 0;
    double seconds = 0;
    words >> command >> port >> count;
    if (command == "rate" || command == "herd") words >> seconds;
    words >> length >> file >> body;
    std::string all = contentsOf(file);
    if (length == 0 || all.size() < length) {
      printf("{\"error\":\"no requests in %s\"}\n", file.c_str());
      fflush(stdout);
      continue;
    }
    size_t next = 0;
    auto request = [&] { return all.substr((next++ % (all.size() / length)) * length, length); };
    bool isHerd = command == "herd", isRate = command == "rate";
    std::vector<Client> clients(count);
    Counts counts;
    size_t begun = 0, done = 0;
    double startMs = nowMs(), quietMs = startMs, stepMs = isHerd ? seconds * 1e3 / static_cast<double>(count) : 0;
    struct epoll_event events[256];
    while (done < count && nowMs() - quietMs < kPatienceMs) {
      while (begun < count && nowMs() >= startMs + stepMs * static_cast<double>(begun)) {
        Client* client = &clients[begun];
        if (!body.empty()) client->body = open(body.c_str(), O_RDONLY | O_CLOEXEC);
        double dueMs = startMs + stepMs * static_cast<double>(begun);
        if (dial(client, port, begun, isHerd)) {
          ask(client, request());
          if (isHerd) client->dueMs = dueMs;
        } else {
          counts.failed++;
          done++;
          leave(client);
        }
        begun++;
      }
      int many = epoll_wait(loop, events, 256, begun < count ? 1 : 100);
      if (many > 0) quietMs = nowMs();
      for (int at = 0; at < many; at++) {
        Client* client = static_cast<Client*>(events[at].data.ptr);
        if (!moved(client, events[at].events, &counts)) continue;
        if (client->fd >= 0 && isRate && nowMs() - startMs < seconds * 1e3) {
          ask(client, request());
          continue;
        }
        if (client->fd >= 0) leave(client);
        done++;
      }
    }
    tell(&counts, nowMs() - startMs);
    for (Client& client : clients)
      if (client.fd >= 0) leave(&client);
    fflush(stdout);
  }
  return 0;
}
