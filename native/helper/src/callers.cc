/** Looks at SO_PEERCRED and SO_PEERGROUPS, which were taken when the caller connected. @source unix(7) */
#include "callers.h"

#include <algorithm>
#include <sys/socket.h>

template <typename Id>
static bool contains(const std::vector<Id>& ids, Id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

static std::vector<gid_t> groupsOf(int connection) {
  // A socket option has no more than this; a caller in more groups is known by the first.
  std::vector<gid_t> groups(1024);
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) < 0) return {};
  groups.resize(size / sizeof(gid_t));
  return groups;
}

bool mayAsk(const Options& options, int connection, uid_t* caller) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return false;
  *caller = peer.uid;
  if (peer.uid == 0 || contains(options.users, peer.uid) || contains(options.groups, peer.gid)) return true;
  if (options.groups.empty()) return false;
  for (gid_t group : groupsOf(connection))
    if (contains(options.groups, group)) return true;
  return false;
}
