/** Opens one RTP packet as it came off the wire. */
#pragma once

#include <cstddef>
#include <cstdint>

/** Why a datagram is no RTP packet; the order is that of MALFORMED in receiver.ts. */
enum class RtpFault { none, tooShort, version, contributors, extension, padding, empty, tooLong, count };

/** Header and payload; `payload` points into the datagram. */
struct RtpPacket {
  uint8_t payloadType = 0;
  uint16_t sequence = 0;
  uint32_t timestamp = 0;
  uint32_t ssrc = 0;
  const uint8_t* payload = nullptr;
  size_t payloadBytes = 0;
};

/** Contributing sources, header extension and padding are stepped over. @source RFC 3550 5.1, 5.3.1 */
RtpFault openRtp(const uint8_t* bytes, size_t length, RtpPacket* packet);
