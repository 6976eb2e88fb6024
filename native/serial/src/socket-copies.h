/** Copies of sockets' descriptors, each with its poll, by the ids that JavaScript has of them. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "failure.h"

/** One of them. Deleted when libuv lets go of its poll. */
template <typename Owner>
struct SocketCopy {
  uv_poll_t poll;
  /** Null once it was let go. */
  Owner* owner = nullptr;
  uint32_t id = 0;
  int fd = -1;
};

/** Those of one owner. @tparam Socket a SocketCopy of that owner */
template <typename Socket>
class SocketCopies {
 public:
  /** Copies the descriptor, which is not polled yet. @param loop null: the line is closed */
  template <typename Owner>
  Failure join(uv_loop_t* loop, int fd, Owner* owner, Socket** joined) {
    if (loop == nullptr) return failedCall("fcntl", ECANCELED);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return failedCall("fcntl", errno);
    Socket* socket = new Socket;
    int status = uv_poll_init(loop, &socket->poll, copy);
    if (status < 0) {
      ::close(copy);
      delete socket;
      return failedCall("epoll_ctl", -status);
    }
    socket->poll.data = socket;
    socket->owner = owner;
    socket->id = ++lastId;
    socket->fd = copy;
    all.push_back(socket);
    *joined = socket;
    return Failure{};
  }

  /** @returns nullptr for an id that left */
  Socket* find(uint32_t id) const {
    auto found = std::find_if(all.begin(), all.end(), [id](Socket* one) { return one->id == id; });
    return found == all.end() ? nullptr : *found;
  }

  void letGo(Socket* socket) {
    std::erase(all, socket);
    socket->owner = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(&socket->poll),
             [](uv_handle_t* handle) { delete static_cast<Socket*>(handle->data); });
    ::close(socket->fd);
  }

  void letAllGo() {
    while (!all.empty()) letGo(all.back());
  }

  size_t size() const { return all.size(); }
  Socket* operator[](size_t at) const { return all[at]; }

 private:
  std::vector<Socket*> all;
  uint32_t lastId = 0;
};
