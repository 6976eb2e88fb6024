/** Reads and writes of sockets beside those of a terminal, and the notes of them. */
#include "passing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "clock.h"

// With less room than one read of a terminal gives, what waits is told first.
static const size_t kLeastRoom = 4096;
// Telnet's "interpret as command" (RFC 854): as data it goes twice.
static const uint8_t kIac = 0xff;
// So many quick answers in a row, in both directions, do not come about by chance.
static const int kQuickInRow = 8;

/** Bytes a non-blocking call took, 0..length; `err` where it failed for another reason than being full. */
template <typename Call>
static size_t pushAll(const uint8_t* bytes, size_t length, int* err, Call call) {
  size_t at = 0;
  while (at < length) {
    ssize_t n = call(bytes + at, length - at);
    if (n > 0) {
      at += static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) *err = errno;
    break;
  }
  return at;
}

void Passing::begin(uv_loop_t* ownLoop, uint8_t* ownSlab, size_t ownSlabSize) {
  loop = ownLoop;
  slab = ownSlab;
  slabSize = ownSlabSize;
  awake.begin(loop);
}

/**
 * Stays awake while line and sockets answer each other at once. One side that only sends does not count: it could take a
 * whole core for as long as it likes.
 */
void Passing::linger(bool isFromLine, double atUs) {
  quickInRow = isFromLine != wasFromLine && atUs - lastUs < Linger::kQuickUs ? quickInRow + 1 : 0;
  wasFromLine = isFromLine;
  lastUs = atUs;
  if (quickInRow >= kQuickInRow) awake.start(atUs);
}

void Passing::useNotes(double* ownNotes, size_t slots, uint64_t withinMs) {
  notes = ownNotes;
  noteSlots = slots;
  tellMs = withinMs;
  if (timer != nullptr || loop == nullptr) return;
  timer = new uv_timer_t;
  timer->data = this;
  uv_timer_init(loop, timer);
  uv_unref(reinterpret_cast<uv_handle_t*>(timer));
}

Failure Passing::join(int fd, uint32_t* id) {
  PassedSocket* socket = nullptr;
  Failure failure = sockets.join(timer == nullptr ? nullptr : loop, fd, this, &socket);
  if (failure.failed()) return failure;
  watch(socket);
  *id = socket->id;
  return failure;
}

void Passing::leave(uint32_t id) {
  if (PassedSocket* socket = sockets.find(id)) sockets.letGo(socket);
}

void Passing::setFlow(uint32_t id, Flow flow) {
  PassedSocket* socket = sockets.find(id);
  if (socket == nullptr || socket->flow == flow) return;
  socket->flow = flow;
  watch(socket);
}

void Passing::watch(PassedSocket* socket) {
  if (socket->flow == Flow::stopped) uv_poll_stop(&socket->poll);
  else uv_poll_start(&socket->poll, socket->flow == Flow::reading ? UV_READABLE : UV_DISCONNECT, onSocket);
}

void Passing::setDirect(uint32_t id, bool isDirect) {
  if (PassedSocket* socket = sockets.find(id)) socket->isDirect = isDirect;
}

void Passing::steer(uint32_t id, Reads reads, bool isTelnet) {
  PassedSocket* socket = sockets.find(id);
  if (socket == nullptr) return;
  socket->reads = reads;
  socket->isTelnet = isTelnet;
}

size_t Passing::take() {
  used = 0;
  if (timer != nullptr) uv_timer_stop(timer);
  return std::exchange(noteCount, 0);
}

void Passing::stop() {
  sockets.letAllGo();
  awake.stop();
  noteCount = 0;
  used = 0;
  if (timer == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(timer, nullptr)),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}

void Passing::note(Note kind, uint32_t id, size_t length, double value, double atUs) {
  double* to = notes + noteCount++ * kNoteSize;
  to[0] = static_cast<double>(kind);
  to[1] = id;
  to[2] = static_cast<double>(length);
  to[3] = value;
  to[4] = atUs;
}

void Passing::tell() {
  if (noteCount > 0) line->tellPassed();
}

/** One read of the line makes a note for itself and at most one for each socket. */
bool Passing::makeRoom() {
  if (room() < kLeastRoom || noteCount + sockets.size() + 1 > noteSlots) tell();
  return room() > 0 && noteCount + sockets.size() + 1 <= noteSlots;
}

void Passing::onTimer(uv_timer_t* handle) { static_cast<Passing*>(handle->data)->tell(); }

void Passing::tellInTime(bool isUrgent) {
  if (isUrgent) return tell();
  if (!uv_is_active(reinterpret_cast<uv_handle_t*>(timer))) uv_timer_start(timer, onTimer, tellMs, 0);
}

void Passing::end(PassedSocket* socket, int err) {
  note(Note::ended, socket->id, 0, err, 0);
  sockets.letGo(socket);
}

/** How many of the line's bytes a socket took. */
size_t Passing::sendTo(PassedSocket* socket, const uint8_t* bytes, size_t length, int* err, bool* isHalf) {
  auto push = [socket, err](const uint8_t* from, size_t size) {
    return pushAll(from, size, err, [socket](const uint8_t* at, size_t rest) {
      return ::send(socket->fd, at, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
  };
  if (!socket->isTelnet || memchr(bytes, kIac, length) == nullptr) return push(bytes, length);
  turned.clear();
  for (size_t at = 0; at < length; at++) {
    turned.push_back(bytes[at]);
    if (bytes[at] == kIac) turned.push_back(kIac);
  }
  size_t sent = push(turned.data(), turned.size());
  size_t taken = 0;
  for (size_t cost = 0; taken < length; taken++) {
    cost += bytes[taken] == kIac ? 2 : 1;
    if (cost > sent) {
      *isHalf = bytes[taken] == kIac && cost == sent + 1;
      break;
    }
  }
  return taken;
}

void Passing::fromLine(size_t length, double atUs) {
  const uint8_t* bytes = slab + used;
  used += length;
  note(Note::fromLine, 0, length, 0, atUs);
  bool isUrgent = false;
  for (size_t at = 0; at < sockets.size();) {
    PassedSocket* socket = sockets[at];
    int err = 0;
    bool isHalf = false;
    size_t sent = socket->isDirect ? sendTo(socket, bytes, length, &err, &isHalf) : length;
    if (err != 0) {
      end(socket, err);
      isUrgent = true;
      continue;
    }
    if (sent < length) {
      socket->isDirect = false;
      note(Note::behind, socket->id, 0, static_cast<double>(length - sent), isHalf ? 1 : 0);
      isUrgent = true;
    }
    at++;
  }
  linger(true, atUs);
  tellInTime(isUrgent);
}

/** How many of a socket's bytes the terminal took. */
size_t Passing::takeFrom(PassedSocket* socket, const uint8_t* bytes, size_t length) {
  int err = 0;  // a failed write is left to JavaScript's own, which meets the same and says so
  auto push = [this, &err](const uint8_t* from, size_t size) {
    return pushAll(from, size, &err, [this](const uint8_t* at, size_t rest) { return ::write(line->descriptor(), at, rest); });
  };
  if (socket->reads == Reads::none) return 0;
  if (socket->reads == Reads::all || memchr(bytes, kIac, length) == nullptr) return push(bytes, length);
  turned.clear();
  for (size_t at = 0; at < length; at++) {
    if (bytes[at] == kIac && (++at == length || bytes[at] != kIac)) break;
    turned.push_back(bytes[at]);
  }
  size_t count = push(turned.data(), turned.size());
  size_t taken = 0;
  for (size_t at = 0; at < count; at++) taken += bytes[taken] == kIac ? 2 : 1;
  return taken;
}

void Passing::onSocket(uv_poll_t* handle, int status, int events) {
  PassedSocket* socket = static_cast<PassedSocket*>(handle->data);
  if (socket->owner == nullptr) return;
  if (socket->flow == Flow::resting) socket->owner->hungUp(socket, status);
  else socket->owner->fromSocket(socket, status);
}

/** Of a socket at rest: its end is told before what it has sent, which whoever takes over may read. */
void Passing::hungUp(PassedSocket* socket, int status) {
  // What is told here may close the line, or let this socket go or on.
  if (!makeRoom() || socket->owner == nullptr || socket->flow != Flow::resting) return;
  int err = 0;
  socklen_t size = sizeof err;
  // A failed poll without a word about why is of no use either.
  if (status < 0 && (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0 || err == 0)) err = -status;
  end(socket, err);
  tell();
}

void Passing::fromSocket(PassedSocket* socket, int status) {
  // What is told here may close the line, or let this socket go or rest.
  if (!makeRoom() || socket->owner == nullptr || socket->flow != Flow::reading) return;
  uint8_t* bytes = slab + used;
  ssize_t n = ::recv(socket->fd, bytes, std::min(room(), readMost), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    // After a failed poll libuv watches no more; a socket without a word about why is of no use.
    if (status < 0) {
      end(socket, -status);
      tell();
    }
    return;
  }
  if (n <= 0) {
    end(socket, n == 0 ? 0 : errno);
    return tell();
  }
  // Bytes from before a reset: with the failed poll libuv stopped watching, and the end is yet to be met.
  if (status < 0) watch(socket);
  size_t length = static_cast<size_t>(n);
  size_t taken = !isHeld && line->isUsable() ? takeFrom(socket, bytes, length) : 0;
  if (taken < length) isHeld = true;
  if (taken > 0) line->wrote();
  used += length;
  const double atUs = nowUs();
  note(Note::fromSocket, socket->id, length, static_cast<double>(taken), atUs);
  linger(false, atUs);
  tellInTime(taken < length);
}
