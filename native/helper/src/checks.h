/** Whether words of a caller are what they claim to be. The board checked them too; here nothing is taken on trust. */
#pragma once

#include <string>

/** `1-1`, `3-2.4.1`: bus, port, and the ports of at most six hubs. @source Linux usb.h, USB 3.2 route string */
bool isBusId(const std::string& word);

/** One label of a host name: letters, digits, inner hyphens, at most 63. @source RFC 1123, 2.1 */
bool isHostLabel(const std::string& word);

/** A name the kernel gives to interfaces, without what a pattern of networkd would read as one. */
bool isInterface(const std::string& word);

/** An IPv4 address a host may have: not this network, loopback, multicast or reserved. */
bool isHostAddress(const std::string& word);

/** `10.0.0.7/24`: such an address, and a prefix of 1 to 30 bits in which it is neither the network nor the broadcast. */
bool isAddressWithPrefix(const std::string& word);

/** Whether `gateway` is another address within the network of `addressWithPrefix`; both were checked. */
bool isWithin(const std::string& addressWithPrefix, const std::string& gateway);

/** A name of a lamp or of what drives it: no part of a path, none that is hidden. */
bool isLampWord(const std::string& word);

/** 0 to 65535. @source Linux include/linux/leds.h, brightness is 16 bits at most */
bool isBrightness(const std::string& word);
