/** All that waits on a path is read in one call, by the thread that polls or by the one that plays. */
#include "receiver.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

/** Datagrams read at once; each has room for a jumbo frame. */
static const int BATCH = 16;
static const size_t DATAGRAM_BYTES = 9216;
/** So often it is read at once, at most: a flood must not hold up who plays. */
static const int MOST_BATCHES = 8;
/** While somebody plays, the thread looks this often whether he still does. */
static const int PLAYED_MS = 20;
/** A stamp further back than that is of another time of the machine's clock. */
static const int64_t OLDEST_STAMP_NS = 1000000000;

static std::mutex listing;
static std::map<int, std::weak_ptr<Receiver>> receivers;

/** What one recvmmsg fills. */
struct Receiver::Batch {
  uint8_t bytes[BATCH][DATAGRAM_BYTES];
  alignas(cmsghdr) char control[BATCH][CMSG_SPACE(sizeof(timespec))];
  iovec parts[BATCH];
  sockaddr_in names[BATCH];
  mmsghdr messages[BATCH];

  void prepare() {
    for (int at = 0; at < BATCH; at++) {
      parts[at] = {bytes[at], DATAGRAM_BYTES};
      messages[at] = {};
      msghdr& header = messages[at].msg_hdr;
      header.msg_name = &names[at];
      header.msg_namelen = sizeof names[at];
      header.msg_iov = &parts[at];
      header.msg_iovlen = 1;
      header.msg_control = control[at];
      header.msg_controllen = sizeof control[at];
    }
  }
};

std::shared_ptr<Receiver> receiverOf(int id) {
  std::lock_guard<std::mutex> lock(listing);
  auto found = receivers.find(id);
  return found == receivers.end() ? nullptr : found->second.lock();
}

Receiver::Receiver(const ReceiverOptions& options, int id, std::shared_ptr<Reception> given)
    : id(id),
      clock(options.clock),
      concealPackets(options.concealPackets),
      reception(std::move(given)),
      pathCount(static_cast<int>(options.paths.size())),
      asked(options.realtimePriority) {}

Receiver::~Receiver() { close(); }

std::shared_ptr<Receiver> Receiver::open(const ReceiverOptions& options, Failure* failure) {
  static int lastId = 0;
  ReceptionSettings settings = options.reception;
  settings.paths = static_cast<int>(options.paths.size());
  std::vector<int> sockets;
  int leastBytes = INT32_MAX;
  for (size_t path = 0; path < options.paths.size() && !failure->failed(); path++) {
    int fd = -1, granted = 0;
    *failure = openReceiveSocket(options.paths[path], options.receiveBufferBytes, &fd, &settings.sources[path], &granted);
    if (fd >= 0) sockets.push_back(fd);
    leastBytes = std::min(leastBytes, granted);
  }
  std::shared_ptr<Receiver> receiver;
  if (!failure->failed()) {
    receiver.reset(new Receiver(options, ++lastId, std::make_shared<Reception>(settings)));
    receiver->bufferBytes = leastBytes;
    *failure = receiver->begin(sockets);
    // Its own now, to close as well.
    if (!failure->failed()) sockets.clear();
  }
  for (int fd : sockets) ::close(fd);
  if (failure->failed()) return nullptr;
  std::lock_guard<std::mutex> lock(listing);
  receivers[receiver->id] = receiver;
  return receiver;
}

Failure Receiver::begin(const std::vector<int>& given) {
  stopper = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stopper < 0) return failedCall("eventfd", errno);
  sockets = given;
  batch = std::make_unique<Batch>();
  thread = std::thread([this] { run(asked); });
  return Failure();
}

void Receiver::close() {
  if (!thread.joinable()) return;
  uint64_t one = 1;
  // An eventfd takes an 8-byte count at once.
  while (write(stopper, &one, sizeof one) < 0 && errno == EINTR) continue;
  thread.join();
  {
    std::lock_guard<PriorityMutex> lock(reading);
    for (int fd : sockets) ::close(fd);
    sockets.clear();
  }
  ::close(stopper);
  std::lock_guard<std::mutex> lock(listing);
  receivers.erase(id);
}

Realtime Receiver::realtime() const {
  Realtime state;
  state.asked = asked;
  state.isGranted = realtimeError == 0;
  state.err = std::max(0, realtimeError.load());
  return state;
}

void Receiver::run(int priority) {
  pthread_setname_np(pthread_self(), "rtp-receive");
  if (priority > 0) realtimeError = enterRealtime(priority);
  pollfd watched[MOST_PATHS + 1];
  size_t count = sockets.size();
  watched[0] = {stopper, POLLIN, 0};
  for (size_t at = 0; at < count; at++) watched[at + 1] = {sockets[at], POLLIN, 0};
  for (;;) {
    bool waitsForPackets = !isPlayed.exchange(false);
    int ready = waitsForPackets ? poll(watched, count + 1, -1) : poll(watched, 1, PLAYED_MS);
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && watched[0].revents != 0) return;
    drainAll();
  }
}

void Receiver::take() {
  isPlayed = true;
  drainAll();
}

void Receiver::drainAll() {
  std::lock_guard<PriorityMutex> lock(reading);
  for (int path = 0; path < static_cast<int>(sockets.size()); path++)
    for (int batches = 0; batches < MOST_BATCHES && drain(path) == BATCH; batches++) continue;
}

/** @returns datagrams that were read */
int Receiver::drain(int path) {
  batch->prepare();
  int got = recvmmsg(sockets[static_cast<size_t>(path)], batch->messages, BATCH, MSG_DONTWAIT, nullptr);
  if (got < 0) {
    // An error that the socket had pending is gone by having been read.
    if (errno != EAGAIN && errno != EINTR) errorCount++;
    return 0;
  }
  if (got == 0) return 0;
  MachineTimes now = machineTimes();
  for (int at = 0; at < got; at++) {
    msghdr& header = batch->messages[at].msg_hdr;
    int64_t stampNs = kernelStampNs(&header);
    int64_t agoNs = now.realtimeNs - stampNs;
    // Where somebody set the machine's clock between the stamp and now, the packet has come just now.
    if (stampNs == 0 || agoNs < 0 || agoNs > OLDEST_STAMP_NS) agoNs = 0;
    Arrival arrival;
    arrival.path = path;
    arrival.address = batch->names[at].sin_addr.s_addr;
    arrival.monotonicNs = now.monotonicNs - agoNs;
    arrival.audioNs = clock->audioAt(arrival.monotonicNs);
    arrival.isTruncated = (header.msg_flags & MSG_TRUNC) != 0;
    reception->take(batch->bytes[at], batch->messages[at].msg_len, arrival);
  }
  return got;
}
