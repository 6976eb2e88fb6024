/** Reads, writes and watches an open terminal on the event loop, without the thread pool. */
#include "port.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/serial.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "clock.h"
#include "js.h"
#include "settings.h"

// A read this long may have left more behind; after a shorter one a second read would only say EAGAIN.
static const ssize_t kLongRead = 1024;

/** The environment ends (process exit, worker stopped) while the port is open. */
static void onEnvironmentEnd(napi_async_cleanup_hook_handle handle, void* data) {
  Port* port = static_cast<Port*>(data);
  port->setClosing();
  port->stopPolling();
  port->closeDescriptors();
}

Port::Port(napi_env env) : env(env) {}

Port::~Port() {
  if (fd >= 0) closeDescriptors();
}

void Port::adopt(Opened opened, std::string path) {
  fd = opened.fd;
  deviceFd = opened.deviceFd;
  unsupported = opened.unsupported;
  isExclusive = opened.isExclusive;
  lock = std::move(opened.lock);
  devicePath = std::move(path);
}

napi_value Port::begin(napi_value slabValue, napi_value onEvent) {
  void* data = nullptr;
  napi_get_typedarray_info(env, slabValue, nullptr, &slabSize, &data, nullptr, nullptr);
  slab = static_cast<uint8_t*>(data);
  poll = new uv_poll_t;
  poll->data = this;
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  int status = uv_poll_init(loop, poll, fd);
  if (status < 0) {
    delete poll;
    poll = nullptr;
    return throwFailure(env, failedCall("epoll_ctl", -status), devicePath);
  }
  napi_create_reference(env, slabValue, 1, &slabRef);
  napi_create_reference(env, onEvent, 1, &onEventRef);
  napi_value name;
  napi_create_string_utf8(env, "plantroom:serial", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, nullptr, name, &context);
  napi_add_async_cleanup_hook(env, onEnvironmentEnd, this, &cleanup);
  passing.begin(loop, slab, slabSize);
  relay.begin(loop, slab);
  arm();
  return jsUndefined(env);
}

void Port::arm() {
  int events = UV_DISCONNECT;
  if (wanted > 0 && !pace.isStream()) events |= UV_READABLE;
  if (wantsWritable) events |= UV_WRITABLE;
  if (poll == nullptr || isLost || events == armed) return;
  uv_poll_start(poll, events, onPoll);
  armed = events;
}

/** Asks for one more event with at most that many bytes. Once it was given nothing is read until asked again. */
napi_value Port::want(int64_t maxBytes) {
  wanted = maxBytes < 0 ? 0 : static_cast<size_t>(maxBytes);
  if (wanted > slabSize) wanted = slabSize;
  // Turning the poll off costs two system calls at the next read: done only when bytes come that nobody wants.
  if (wanted > 0 && !(armed & UV_READABLE)) arm();
  return jsUndefined(env);
}

/** A read would tell too, but of an empty terminal it waits for the kernel's worker that fills it. */
bool Port::hasInput() const {
  int there = 0;
  return ioctl(fd, FIONREAD, &there) < 0 || there > 0;
}

napi_value Port::readNow() {
  if (poll != nullptr && !isLost && wanted > 0 && hasInput()) readable();
  return jsUndefined(env);
}

/** While the line sends on and on, it is read at ticks of so many milliseconds; 0: at once, always. */
napi_value Port::readEvery(uint64_t ms) {
  if (poll == nullptr) return jsUndefined(env);
  pace.every(poll->loop, ms);
  watchOrRest();
  return jsUndefined(env);
}

/** Watches for bytes or not, as the pace has it. Turning the poll on or off costs two system calls. */
void Port::watchOrRest() {
  if (pace.isStream() == ((armed & UV_READABLE) != 0)) arm();
}

void Port::onTick() {
  readable();
  pace.ticked();
  watchOrRest();
}

napi_value Port::wakeIn(uint64_t us) {
  toSend.clear();
  if (poll == nullptr) return jsUndefined(env);
  Failure failure = wake.in(poll->loop, us);
  return failure.failed() ? throwFailure(env, failure, devicePath) : jsUndefined(env);
}

napi_value Port::sendIn(uint64_t us, napi_value bytes) {
  napi_value woken = wakeIn(us);
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, bytes, nullptr, &length, &data, nullptr, nullptr);
  toSend.assign(static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + length);
  return woken;
}

/** Bytes the driver took, or -1 where something has come that must be read first. */
napi_value Port::sendIfQuiet(napi_value bytes) {
  toSend.clear();
  if (poll == nullptr || isLost || hasInput()) return jsNumber(env, -1);
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, bytes, nullptr, &length, &data, nullptr, nullptr);
  return jsNumber(env, static_cast<double>(giveAtOnce(static_cast<uint8_t*>(data), length)));
}

/** An error is met again by who writes the rest. */
size_t Port::giveAtOnce(const uint8_t* bytes, size_t length) {
  int err = 0;
  size_t taken = writeSome(bytes, length, &err);
  if (taken > 0) wrote();
  return taken;
}

size_t Port::sendQuiet(const uint8_t* bytes, size_t length) {
  if (!isUsable() || wantsWritable || hasInput()) return 0;
  return giveAtOnce(bytes, length);
}

void Port::asked(uint32_t id, size_t length, size_t sent) {
  emit(Event::asked, static_cast<double>(length), id, sent);
}

napi_value Port::dropSend() {
  toSend.clear();
  return jsUndefined(env);
}

/** JavaScript has no part in what stands between the end of the time and the send. */
void Port::onWake() {
  if (toSend.empty() || isLost || hasInput()) {
    toSend.clear();
    return emit(Event::awake, 0, 0);
  }
  size_t taken = giveAtOnce(toSend.data(), toSend.size());
  toSend.clear();
  emit(Event::sent, static_cast<double>(taken), nowUs());
}

/** What was to be sent later is no longer the first after the silence. */
void Port::wrote() {
  toSend.clear();
  relay.end();
  pace.wrote();
}

void Port::onPoll(uv_poll_t* handle, int status, int events) {
  Port* port = static_cast<Port*>(handle->data);
  if (status < 0) {
    // libuv has stopped the handle on POLLERR; the read tells which error it is.
    port->armed = 0;
    events = UV_READABLE | UV_DISCONNECT;
  }
  if ((events & UV_WRITABLE) && port->wantsWritable) {
    port->wantsWritable = false;
    port->arm();
    port->emit(Event::writable, 0, 0);
  }
  if (port->poll == nullptr || port->isLost) return;
  if ((events & UV_READABLE) && port->wanted > 0) return port->readable();
  if ((events & UV_DISCONNECT) && port->pace.isStream()) {
    // What came before the end is read first.
    port->pace.leave();
    return port->arm();
  }
  if (events & UV_DISCONNECT) return port->lost(0);
  if (events & UV_READABLE) port->arm();
}

void Port::readable() {
  if (isLost) return;
  bool isPassed = passing.isActive();
  // What is told here may close the line or ask for a rest.
  if (isPassed && !passing.makeRoom()) return;
  if (poll == nullptr || wanted == 0) return;
  uint8_t* to = isPassed ? passing.end() : slab;
  size_t most = isPassed ? std::min(wanted, passing.room()) : wanted;
  size_t length = 0;
  int err = 0;
  bool isEnd = false;
  while (length < most) {
    ssize_t n = ::read(fd, to + length, most - length);
    if (n > 0) {
      length += static_cast<size_t>(n);
      if (n < kLongRead) break;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) err = errno;
    isEnd = n == 0;
    break;
  }
  double atUs = nowUs();
  // Whoever wanted to send now must hear it first.
  if (length > 0) toSend.clear();
  if (length > 0) pace.read(length, atUs);
  if (length > 0 && isPassed) {
    relay.end();
    passing.fromLine(length, atUs);
  } else if (length > 0) {
    const size_t relayed = relay.pass(to, length);
    wanted = 0;
    emit(Event::bytes, static_cast<double>(length), atUs, relayed);
  }
  if (err != 0 || isEnd) return lost(err);
  // After POLLERR nothing is armed any more; with nothing said by the read, ask again.
  if (armed == 0) arm();
  else watchOrRest();
}

void Port::lost(int err) {
  if (isLost || poll == nullptr) return;
  isLost = true;
  toSend.clear();
  passing.tell();
  if (poll == nullptr) return;
  uv_poll_stop(poll);
  pace.leave();
  armed = 0;
  emit(Event::lost, err, nowUs());
}

void Port::emit(Event event, double value, double atUs, size_t relayed) {
  if (onEventRef == nullptr) return;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  napi_value onEvent, receiver, result;
  napi_get_reference_value(env, onEventRef, &onEvent);
  napi_get_global(env, &receiver);
  napi_value args[] = {jsNumber(env, static_cast<int>(event)), jsNumber(env, value), jsNumber(env, atUs),
                       jsNumber(env, static_cast<double>(relayed))};
  napi_status status = napi_make_callback(env, context, receiver, onEvent, 4, args, &result);
  if (status == napi_pending_exception) {
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    napi_fatal_exception(env, error);
  }
  napi_close_handle_scope(env, scope);
}

/** @returns how many the driver took at once */
size_t Port::writeSome(const uint8_t* bytes, size_t length, int* err) {
  size_t at = 0;
  while (at < length) {
    ssize_t n = ::write(fd, bytes + at, length - at);
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

/** Bytes the driver took at once, 0..all; the rest is the caller's to keep until it is writable again. */
napi_value Port::write(napi_value bytes, size_t offset) {
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, bytes, nullptr, &length, &data, nullptr, nullptr);
  if (closing) return throwFailure(env, failedCall("write", ECANCELED), devicePath);
  int err = 0;
  size_t taken = offset < length ? writeSome(static_cast<uint8_t*>(data) + offset, length - offset, &err) : 0;
  if (err != 0) return throwFailure(env, failedCall("write", err), devicePath);
  if (taken > 0) wrote();
  return jsNumber(env, static_cast<double>(taken));
}

napi_value Port::awaitWritable() {
  if (!closing && !wantsWritable) {
    wantsWritable = true;
    arm();
  }
  return jsUndefined(env);
}

napi_value Port::outQueue() {
  int waiting = 0;
  if (closing) return throwFailure(env, failedCall("TIOCOUTQ", ECANCELED), devicePath);
  if (ioctl(fd, TIOCOUTQ, &waiting) < 0) return throwFailure(env, failedCall("TIOCOUTQ", errno), devicePath);
  return jsNumber(env, waiting);
}

/** [rx, tx, frame, overrun, parity, brk, buf_overrun, cts, dsr, rng, dcd], or undefined where the driver keeps none. */
napi_value Port::counts() {
  struct serial_icounter_struct now = {};
  if (closing) return throwFailure(env, failedCall("TIOCGICOUNT", ECANCELED), devicePath);
  if (ioctl(fd, TIOCGICOUNT, &now) < 0) {
    if (isUnknownIoctl(errno)) return jsUndefined(env);
    return throwFailure(env, failedCall("TIOCGICOUNT", errno), devicePath);
  }
  const int values[] = {now.rx,  now.tx,          now.frame, now.overrun, now.parity, now.brk,
                        now.buf_overrun, now.cts, now.dsr,   now.rng,     now.dcd};
  napi_value list;
  napi_create_array(env, &list);
  for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++)
    napi_set_element(env, list, i, jsNumber(env, static_cast<unsigned>(values[i])));
  return list;
}

/** What may go only once libuv has let go of the poll handle: we may be inside one of its callbacks. */
struct Leftover {
  napi_env env;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
};

static void onPollClosed(uv_handle_t* handle) {
  Leftover* left = static_cast<Leftover*>(handle->data);
  napi_async_destroy(left->env, left->context);
  napi_remove_async_cleanup_hook(left->cleanup);
  delete left;
  delete reinterpret_cast<uv_poll_t*>(handle);
}

void Port::stopPolling() {
  if (poll == nullptr) return;
  passing.stop();
  relay.stop();
  wake.stop();
  pace.stop();
  uv_poll_stop(poll);
  poll->data = new Leftover{env, context, cleanup};
  uv_close(reinterpret_cast<uv_handle_t*>(poll), onPollClosed);
  poll = nullptr;
  napi_delete_reference(env, std::exchange(onEventRef, nullptr));
  napi_delete_reference(env, std::exchange(slabRef, nullptr));
}

Failure Port::closeDescriptors() {
  // Else close() waits up to 30 s (closing_wait) for a transmitter that flow control holds.
  if (fd >= 0 && deviceFd < 0) ioctl(fd, TCFLSH, TCIOFLUSH);
  blocking.endAll();
  std::lock_guard<std::mutex> guard(callMutex);
  Failure failure;
  if (fd >= 0) {
    // Exclusive use belongs to the terminal, not to the descriptor: it would outlive us while another has it open.
    if (isExclusive) ioctl(fd, TIOCNXCL);
    if (::close(fd) < 0 && errno != EINTR) failure = failedCall("close", errno);
    fd = -1;
  }
  if (deviceFd >= 0) ::close(deviceFd);
  deviceFd = -1;
  releaseUucpLock(&lock);
  return failure;
}
