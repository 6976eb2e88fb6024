/** Writes what usbip-host reads. @source Linux drivers/usb/usbip/stub_main.c and stub_dev.c */
#include "usbip.h"

#include <errno.h>
#include <sys/socket.h>

#include "files.h"

static const char DRIVER[] = "usbip-host";

static std::string usb(const Options& options) { return options.root + "/sys/bus/usb"; }
static std::string driver(const Options& options, const std::string& name) { return usb(options) + "/drivers/" + name; }
static std::string device(const Options& options, const std::string& busId) {
  return usb(options) + "/devices/" + busId;
}
static std::string driverOf(const Options& options, const std::string& busId) {
  return linkedName(device(options, busId) + "/driver");
}

static Answer noDevice(const std::string& busId) { return refused("no_device", "there is no USB device " + busId); }
static Answer noDriver() { return refused("no_usbip_host", "the kernel has no usbip-host driver loaded"); }

/** Whether usbip-host has the device; `why` says it where not. */
static bool isShared(const Options& options, const std::string& busId, Answer* why) {
  if (!exists(driver(options, DRIVER))) *why = noDriver();
  else if (!exists(device(options, busId))) *why = noDevice(busId);
  else if (driverOf(options, busId) != DRIVER) *why = refused("not_bound", busId + " is not bound to usbip-host");
  else return true;
  return false;
}

static int match(const Options& options, const char* what, const std::string& busId) {
  return writeAttribute(driver(options, DRIVER) + "/match_busid", what + (" " + busId));
}

Answer bindDevice(const Options& options, const std::string& busId) {
  if (!exists(driver(options, DRIVER))) return noDriver();
  if (!exists(device(options, busId))) return noDevice(busId);
  if (readLine(device(options, busId) + "/bDeviceClass") == "09")
    return refused("is_hub", busId + " is a hub: the devices on it can be shared, it cannot");
  std::string before = driverOf(options, busId);
  if (before == DRIVER) return done("is bound already");
  // First, since it is what fails (a full table) without harm: the device has its driver still.
  if (int err = match(options, "add", busId)) return failedCall("bind_failed", "match_busid of usbip-host", err);
  if (!before.empty()) {
    if (int err = writeAttribute(driver(options, before) + "/unbind", busId)) {
      match(options, "del", busId);
      return failedCall("bind_failed", before + " does not let go of " + busId, err);
    }
  }
  if (int err = writeAttribute(driver(options, DRIVER) + "/bind", busId)) {
    match(options, "del", busId);
    if (!before.empty()) writeAttribute(driver(options, before) + "/bind", busId);
    return failedCall("bind_failed", "usbip-host does not take " + busId, err);
  }
  return done();
}

Answer unbindDevice(const Options& options, const std::string& busId) {
  Answer why;
  if (!isShared(options, busId, &why)) {
    // Pulled while it was shared: what comes into that socket next is not to be shared unasked. Not `rebind` here:
    // that would have the kernel look at a device that is gone.
    if (why.code != "no_usbip_host" && match(options, "del", busId) == 0) return done("was no longer bound");
    return why;
  }
  if (int err = writeAttribute(driver(options, DRIVER) + "/unbind", busId))
    return failedCall("unbind_failed", "usbip-host does not let go of " + busId, err);
  match(options, "del", busId);
  // The kernel picks the driver as if the device were new: no need to remember which one it had.
  if (writeAttribute(driver(options, DRIVER) + "/rebind", busId) == 0) return done();
  if (int err = writeAttribute(driver(options, "usb") + "/bind", busId))
    return failedCall("unbind_failed", "no driver of this machine takes " + busId + " back", err);
  return done();
}

/** `usbip_status`: 1 available, 2 in use, 3 in error. @source Linux include/uapi/linux/usbip.h */
static Answer notFree(const std::string& busId, const std::string& status) {
  if (status == "2") return refused("busy", busId + " is in use by another host");
  return refused("device_error", busId + " is not available, usbip_status is " + (status.empty() ? "unknown" : status));
}

/** A connected TCP socket, and nothing else that somebody could have the kernel read from. */
static bool isTcpConnection(int socket) {
  int type = 0, domain = 0;
  socklen_t size = sizeof type;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM) return false;
  size = sizeof domain;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0) return false;
  struct sockaddr_storage peer;
  size = sizeof peer;
  return (domain == AF_INET || domain == AF_INET6) &&
         getpeername(socket, reinterpret_cast<struct sockaddr*>(&peer), &size) == 0;
}

Answer attachHost(const Options& options, const std::string& busId, int socket) {
  if (!isTcpConnection(socket)) return refused("bad_descriptor", "the descriptor is no connected TCP socket");
  Answer why;
  if (!isShared(options, busId, &why)) return why;
  std::string status = readLine(device(options, busId) + "/usbip_status");
  if (status != "1") return notFree(busId, status);
  int err = writeAttribute(device(options, busId) + "/usbip_sockfd", std::to_string(socket));
  if (err == 0) return done();
  // Another host came first between the look and the write: the kernel says EINVAL for that as for all else.
  if (err == EINVAL || err == EBUSY) {
    status = readLine(device(options, busId) + "/usbip_status");
    if (status == "2") return notFree(busId, status);
  }
  return failedCall("attach_failed", "the kernel does not take the connection for " + busId, err);
}

Answer detachHost(const Options& options, const std::string& busId) {
  Answer why;
  if (!isShared(options, busId, &why)) return why;
  if (readLine(device(options, busId) + "/usbip_status") != "2") return refused("not_attached", "no host has " + busId);
  int err = writeAttribute(device(options, busId) + "/usbip_sockfd", "-1");
  return err == 0 ? done() : failedCall("detach_failed", "the kernel does not end the connection of " + busId, err);
}
