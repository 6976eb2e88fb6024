/** RFC 3550 5.1: twelve octets, contributing sources, header extension, payload, padding. */
#include "rtp-packet.h"

static const size_t HEADER_BYTES = 12;

static uint16_t half(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

static uint32_t word(const uint8_t* at) { return static_cast<uint32_t>(half(at)) << 16 | half(at + 2); }

RtpFault openRtp(const uint8_t* bytes, size_t length, RtpPacket* packet) {
  if (length < HEADER_BYTES) return RtpFault::tooShort;
  if (bytes[0] >> 6 != 2) return RtpFault::version;
  size_t start = HEADER_BYTES + 4u * (bytes[0] & 0x0f);
  if (start > length) return RtpFault::contributors;
  if (bytes[0] & 0x10) {
    if (start + 4 > length) return RtpFault::extension;
    start += 4 + 4u * half(bytes + start + 2);
    if (start > length) return RtpFault::extension;
  }
  size_t end = length;
  if (bytes[0] & 0x20) {
    // The last octet says how many are padding, itself included.
    uint8_t padding = bytes[length - 1];
    if (padding == 0 || padding > length - start) return RtpFault::padding;
    end -= padding;
  }
  if (start == end) return RtpFault::empty;
  packet->payloadType = bytes[1] & 0x7f;
  packet->sequence = half(bytes + 2);
  packet->timestamp = word(bytes + 4);
  packet->ssrc = word(bytes + 8);
  packet->payload = bytes + start;
  packet->payloadBytes = end - start;
  return RtpFault::none;
}
