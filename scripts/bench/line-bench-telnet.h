/** Minimal Telnet for a benchmark's client: data in and out, commands skipped. */
#pragma once

#include <cstddef>
#include <vector>

/** Decodes Telnet in place, leaving only data. The server's commands are skipped. */
struct Telnet {
  enum { kData, kIac, kVerb, kSub, kSubIac } place = kData;

  size_t data(unsigned char* bytes, size_t length) {
    size_t out = 0;
    for (size_t at = 0; at < length; at++) {
      unsigned char byte = bytes[at];
      if (place == kData) {
        if (byte == 255) place = kIac;
        else bytes[out++] = byte;
      } else if (place == kIac) {
        place = byte >= 251 && byte <= 254 ? kVerb : byte == 250 ? kSub : kData;
        if (byte == 255) bytes[out++] = byte;
      } else if (place == kVerb) {
        place = kData;
      } else if (place == kSub) {
        if (byte == 255) place = kSubIac;
      } else {
        place = byte == 240 ? kData : kSub;
      }
    }
    return out;
  }

  static std::vector<unsigned char> frame(const unsigned char* bytes, size_t length) {
    std::vector<unsigned char> out;
    out.reserve(length + length / 64);
    for (size_t at = 0; at < length; at++) {
      out.push_back(bytes[at]);
      if (bytes[at] == 255) out.push_back(255);
    }
    return out;
  }
};
