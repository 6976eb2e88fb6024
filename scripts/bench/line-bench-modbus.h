/** Shared by the Modbus unit and its master in a benchmark. */
#pragma once

#include <cstddef>
#include <cstdint>

/** @source Modbus over Serial Line V1.02, 6.2.2 */
static uint16_t crcOf(const unsigned char* bytes, size_t length) {
  uint16_t crc = 0xffff;
  for (size_t at = 0; at < length; at++) {
    crc ^= bytes[at];
    for (int bit = 0; bit < 8; bit++) crc = static_cast<uint16_t>(crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1);
  }
  return crc;
}

/** Value of a register: differs by address, so that a reply for another address is detected. */
static uint16_t registerAt(size_t address) { return static_cast<uint16_t>(address * 257 + 13); }

static void putWord(unsigned char* to, size_t word) {
  to[0] = static_cast<unsigned char>(word >> 8);
  to[1] = static_cast<unsigned char>(word);
}
