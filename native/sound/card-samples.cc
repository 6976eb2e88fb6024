/** Shifts and bytes. */
#include "card-samples.h"

void samplesToCard(const CardLayout& layout, const int32_t* samples, int frames, uint8_t* out) {
  const int shift = 32 - layout.bits;
  for (int frame = 0; frame < frames; frame++) {
    for (int channel = 0; channel < layout.cardChannels; channel++) {
      const int from = layout.channels == 1 ? 0 : channel;
      const int32_t sample = from < layout.channels ? samples[from] >> shift : 0;
      for (int byte = 0; byte < layout.bytes; byte++) *out++ = static_cast<uint8_t>(sample >> (8 * byte));
    }
    samples += layout.channels;
  }
}

void samplesFromCard(const CardLayout& layout, const uint8_t* in, int frames, int32_t* samples) {
  const int shift = 32 - layout.bits;
  for (int frame = 0; frame < frames; frame++) {
    for (int channel = 0; channel < layout.channels; channel++) {
      uint32_t sample = 0;
      if (channel < layout.cardChannels) {
        for (int byte = 0; byte < layout.bytes; byte++) sample |= static_cast<uint32_t>(in[channel * layout.bytes + byte]) << (8 * byte);
      }
      // Bits above those that count fall off at the top.
      *samples++ = static_cast<int32_t>(sample << shift);
    }
    in += layout.cardChannels * layout.bytes;
  }
}
