/** Samples as a sound card has them, against ours: 32 bits, full scale 2^31, interleaved. */
#pragma once

#include <cstddef>
#include <cstdint>

/** Little-endian, two's complement, interleaved. */
struct CardLayout {
  /** Channels of ours, and of the card. */
  int channels = 2;
  int cardChannels = 2;
  /** Bytes that a sample of the card takes, and bits that count in it, the lowest: 4 and 24 are S24_LE. */
  int bytes = 4;
  int bits = 32;

  size_t sizeOf(int frames) const { return static_cast<size_t>(frames) * static_cast<size_t>(cardChannels * bytes); }
};

/** One channel of ours goes to all of the card's; else channel by channel, and what is left over is silent. */
void samplesToCard(const CardLayout& layout, const int32_t* samples, int frames, uint8_t* out);

/** Channel by channel; what the card has not is silent. */
void samplesFromCard(const CardLayout& layout, const uint8_t* in, int frames, int32_t* samples);
