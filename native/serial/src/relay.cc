/** Copies of sockets' descriptors, and the frame that is expected. */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

static const size_t kChecksumBytes = 2;

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

Failure Relay::join(int fd, uint32_t* id) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return failedCall("fcntl", errno);
  *id = ++lastId;
  sockets[*id] = copy;
  return Failure{};
}

void Relay::leave(uint32_t id) {
  auto found = sockets.find(id);
  if (found == sockets.end()) return;
  ::close(found->second);
  sockets.erase(found);
}

void Relay::expect(uint32_t id, ExpectedFrame next) {
  to = id;
  frame = std::move(next);
  isExpecting = frame.length >= frame.begins.size() + kChecksumBytes;
}

bool Relay::isExpected(const uint8_t* bytes, size_t length) const {
  if (length != frame.length || !std::equal(frame.begins.begin(), frame.begins.end(), bytes)) return false;
  const uint16_t crc = crcOf(bytes, length - kChecksumBytes);
  return bytes[length - 2] == (crc & 0xff) && bytes[length - 1] == crc >> 8;
}

size_t Relay::pass(const uint8_t* bytes, size_t length) {
  if (!std::exchange(isExpecting, false) || !isExpected(bytes, length)) return 0;
  auto found = sockets.find(to);
  if (found == sockets.end()) return 0;
  struct iovec parts[] = {{frame.head.data(), frame.head.size()},
                          {const_cast<uint8_t*>(bytes), length - kChecksumBytes}};
  struct msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  // What it does not take is left to JavaScript, and so is an error, which its own write meets too.
  return static_cast<size_t>(std::max<ssize_t>(0, ::sendmsg(found->second, &message, MSG_DONTWAIT | MSG_NOSIGNAL)));
}

void Relay::stop() {
  isExpecting = false;
  for (const auto& [id, fd] : sockets) ::close(fd);
  sockets.clear();
}
