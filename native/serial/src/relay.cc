/** The frame that is expected from the line, and the read that a socket may send to it. */
#include "relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <utility>

#include "clock.h"

static const size_t kChecksumBytes = 2;
// Transaction id, protocol id and length; unit, function, address and quantity.
static const size_t kHeadBytes = 6;
static const size_t kReadBytes = 6;
// Modbus Application Protocol V1.1b3, 6.1 to 6.4.
static const size_t kMostBits = 2000;
static const size_t kMostWords = 125;
// More than a client may have asked at once.
static const size_t kMostRead = 16384;

// Modbus over Serial Line V1.02, 6.2.2.
static constexpr std::array<uint16_t, 256> kCrcOfByte = [] {
  std::array<uint16_t, 256> table{};
  for (size_t byte = 0; byte < table.size(); byte++) {
    uint16_t crc = static_cast<uint16_t>(byte);
    for (int bit = 0; bit < 8; bit++) crc = static_cast<uint16_t>(crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1);
    table[byte] = crc;
  }
  return table;
}();

static uint16_t crcOf(const uint8_t* bytes, size_t length) {
  uint16_t crc = 0xffff;
  for (size_t at = 0; at < length; at++) crc = static_cast<uint16_t>(crc >> 8 ^ kCrcOfByte[(crc ^ bytes[at]) & 0xff]);
  return crc;
}

static size_t wordAt(const uint8_t* bytes) { return static_cast<size_t>(bytes[0] << 8 | bytes[1]); }

/** Whether these bytes are one message of Modbus TCP that reads coils, inputs or registers of the unit. */
static bool isReadOf(uint8_t unit, const uint8_t* bytes, size_t length) {
  if (length != kHeadBytes + kReadBytes || wordAt(bytes + 2) != 0 || wordAt(bytes + 4) != kReadBytes) return false;
  const size_t fc = bytes[7], address = wordAt(bytes + 8), quantity = wordAt(bytes + 10);
  if (bytes[6] != unit || fc < 1 || fc > 4) return false;
  return quantity >= 1 && quantity <= (fc <= 2 ? kMostBits : kMostWords) && address + quantity <= 65536;
}

void Relay::begin(uv_loop_t* ownLoop, uint8_t* ownSlab) {
  loop = ownLoop;
  slab = ownSlab;
  awake.begin(loop);
}

Failure Relay::join(int fd, uint32_t* id) {
  RelaySocket* socket = nullptr;
  Failure failure = sockets.join(loop, fd, this, &socket);
  if (!failure.failed()) *id = socket->id;
  return failure;
}

void Relay::leave(uint32_t id) {
  if (RelaySocket* socket = sockets.find(id)) sockets.letGo(socket);
}

void Relay::read(uint32_t id, bool isRead) {
  RelaySocket* socket = sockets.find(id);
  if (socket == nullptr) return;
  if (isRead) uv_poll_start(&socket->poll, UV_READABLE, onSocket);
  else uv_poll_stop(&socket->poll);
}

void Relay::expect(uint32_t id, ExpectedFrame next) {
  to = id;
  frame = std::move(next);
  askedUs = nowUs();
  isExpecting = frame.length >= frame.begins.size() + kChecksumBytes;
  if (isQuick) awake.start(askedUs);
}

void Relay::admit(uint32_t id, uint8_t unit, double atUs) {
  from = id;
  admittedUnit = unit;
  notBeforeUs = atUs;
  isAdmitting = true;
  const double now = nowUs();
  if (isQuick && notBeforeUs < now + Linger::kMostUs) awake.start(now);
}

void Relay::onSocket(uv_poll_t* handle, int status, int) {
  RelaySocket* socket = static_cast<RelaySocket*>(handle->data);
  Relay* relay = socket->owner;
  if (relay == nullptr) return;
  ssize_t n = ::recv(socket->fd, relay->slab, kMostRead, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR) && status == 0) return;
  const uint32_t id = socket->id;
  if (n > 0) {
    // Bytes from before a reset: with the failed poll libuv stopped watching, and the end is yet to be met.
    if (status < 0) uv_poll_start(handle, UV_READABLE, onSocket);
    const size_t length = static_cast<size_t>(n);
    return relay->line->asked(id, length, relay->sendOn(socket, relay->slab, length));
  }
  // Whoever reads the socket next meets its end, or its failure, again.
  uv_poll_stop(&socket->poll);
  relay->line->asked(id, 0, 0);
}

/** @returns how many bytes of the question, with its checksum, the line took */
size_t Relay::sendOn(const RelaySocket* socket, const uint8_t* bytes, size_t length) {
  if (!std::exchange(isAdmitting, false) || socket->id != from) return 0;
  if (!isReadOf(admittedUnit, bytes, length) || nowUs() < notBeforeUs) return 0;
  uint8_t question[kReadBytes + kChecksumBytes];
  std::copy(bytes + kHeadBytes, bytes + length, question);
  const uint16_t crc = crcOf(question, kReadBytes);
  question[kReadBytes] = static_cast<uint8_t>(crc);
  question[kReadBytes + 1] = static_cast<uint8_t>(crc >> 8);
  return line->sendQuiet(question, sizeof question);
}

bool Relay::isExpected(const uint8_t* bytes, size_t length) const {
  if (length != frame.length || !std::equal(frame.begins.begin(), frame.begins.end(), bytes)) return false;
  const uint16_t crc = crcOf(bytes, length - kChecksumBytes);
  return bytes[length - 2] == (crc & 0xff) && bytes[length - 1] == crc >> 8;
}

size_t Relay::pass(const uint8_t* bytes, size_t length) {
  isAdmitting = false;
  if (!std::exchange(isExpecting, false) || !isExpected(bytes, length)) return 0;
  const RelaySocket* socket = sockets.find(to);
  isQuick = nowUs() - askedUs < Linger::kQuickUs;
  if (socket == nullptr) return 0;
  struct iovec parts[] = {{frame.head.data(), frame.head.size()},
                          {const_cast<uint8_t*>(bytes), length - kChecksumBytes}};
  struct msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  // What it does not take is left to JavaScript, and so is an error, which its own write meets too.
  return static_cast<size_t>(std::max<ssize_t>(0, ::sendmsg(socket->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL)));
}

void Relay::stop() {
  end();
  loop = nullptr;
  sockets.letAllGo();
  awake.stop();
}
