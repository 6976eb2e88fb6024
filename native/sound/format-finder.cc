/** Two packets in a row tell: the timestamp's step is the frames of the first one, its size divided by them a frame. */
#include "format-finder.h"

#include <algorithm>

void FormatFinder::look(const RtpPacket& packet) {
  bool isNext = hasLast && static_cast<uint16_t>(lastSequence + 1) == packet.sequence;
  uint32_t step = packet.timestamp - lastTimestamp;
  size_t bytes = lastBytes;
  hasLast = true;
  lastSequence = packet.sequence;
  lastTimestamp = packet.timestamp;
  lastBytes = packet.payloadBytes;
  if (!isNext || step == 0 || step > static_cast<uint32_t>(MOST_FRAMES) || bytes % step != 0) return;
  int frameBytes = static_cast<int>(bytes / step);
  agreed = frameBytes == seenBytes ? std::min(agreed + 1, AGREEING) : 1;
  seenBytes = frameBytes;
  bool isFirst = channels == 0 && !isWrong;
  if (agreed < AGREEING && !isFirst) return;
  bool isWhole = seenBytes % bytesPerSample == 0 && seenBytes / bytesPerSample <= MOST_CHANNELS;
  isWrong = announced != 0 ? seenBytes != announced * bytesPerSample : !isWhole;
  if (announced == 0 && isWhole) channels = seenBytes / bytesPerSample;
}

Fit FormatFinder::take(const RtpPacket& packet) {
  look(packet);
  if (isWrong) return Fit::wrong;
  if (channels == 0) return Fit::unknown;
  size_t frameBytes = static_cast<size_t>(channels * bytesPerSample);
  size_t count = packet.payloadBytes / frameBytes;
  if (packet.payloadBytes % frameBytes != 0 || count > static_cast<size_t>(MOST_FRAMES)) return Fit::wrong;
  frames = static_cast<int>(count);
  return Fit::fits;
}
