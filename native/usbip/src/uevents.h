/** What the kernel tells of devices that come and go. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "failure.h"

/** A socket on the kernel's own group of NETLINK_KOBJECT_UEVENT, with a receive buffer of about that many bytes. */
Failure openUevents(int bufferBytes, int* fd);

/**
 * The next message of the kernel, cut at `size`; messages of other senders are passed over. `length` is -1 where none
 * waits. ENOBUFS: messages were lost.
 */
Failure nextUevent(int fd, void* to, size_t size, ssize_t* length);
