/** The kernel's usbip-host by sysfs: which device it has, and which host has the device. */
#pragma once

#include <string>

#include "answer.h"
#include "options.h"

/** Takes a device from its own driver and gives it to usbip-host; what fails is taken back. */
Answer bindDevice(const Options& options, const std::string& busId);

/** Gives a device back to its own driver, also one that is no longer there. */
Answer unbindDevice(const Options& options, const std::string& busId);

/** Hands a connected TCP socket to the kernel; it takes a reference of its own. */
Answer attachHost(const Options& options, const std::string& busId, int socket);

/** Ends the connection the kernel has for the device. */
Answer detachHost(const Options& options, const std::string& busId);
