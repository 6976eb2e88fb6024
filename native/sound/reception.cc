/** From a datagram to its place in the ring, each step with its count. */
#include "reception.h"

#include <algorithm>

#include "audio-time.h"

/** A block is taken out as its first frame is due: what is in it is over so much before its own time, and some. */
static const int64_t PLAYED_AHEAD_NS = 2000000;

using Lock = std::lock_guard<PriorityMutex>;

Reception::Reception(const ReceptionSettings& given)
    : settings(given), place(given.mediaOffset, given.followsArrival, given.ringFrames / 2), currentLinkNs(given.linkNs) {
  for (int path = 0; path < settings.paths; path++) {
    size_t at = static_cast<size_t>(path);
    paths[at] = std::make_unique<Path>(settings.sources[at], settings);
  }
  if (settings.channels > 0) useChannels(settings.channels);
}

void Reception::useChannels(int channels) {
  ring = std::make_unique<SampleRing>(channels, settings.ringFrames);
  counts.channels = channels;
  epoch++;
}

void Reception::take(const uint8_t* bytes, size_t length, const Arrival& arrival) {
  Lock lock(mutex);
  Path& path = *paths[static_cast<size_t>(arrival.path)];
  if (path.gate.isOther(arrival.address, arrival.monotonicNs)) {
    path.counts.wrongSource++;
    path.counts.otherAddress = arrival.address;
    return;
  }
  RtpPacket packet;
  RtpFault fault = arrival.isTruncated ? RtpFault::tooLong : openRtp(bytes, length, &packet);
  if (fault != RtpFault::none) {
    path.counts.malformed[static_cast<size_t>(fault)]++;
    return;
  }
  bool isCopy = false;
  if (isOurs(path, packet, arrival, &isCopy)) keep(path, packet, arrival, isCopy);
}

bool Reception::isOurs(Path& path, const RtpPacket& packet, const Arrival& arrival, bool* isCopy) {
  Gate gate = path.gate.take(arrival.address, packet.ssrc, arrival.monotonicNs);
  if (gate != Gate::open) {
    path.counts.wrongSsrc++;
    return false;
  }
  if (path.gate.takeChange()) {
    path.account.restart();
    path.format.restart();
    // The other path of a stream has the same numbers, of the same source.
    if (packet.ssrc != accountSsrc) account.restart();
    accountSsrc = packet.ssrc;
  }
  path.counts.packets++;
  path.counts.bytes += packet.payloadBytes;
  path.counts.payloadType = packet.payloadType;
  path.account.take(packet.sequence);
  *isCopy = account.take(packet.sequence) == Sequence::duplicate;
  Fit fit = path.format.take(packet);
  bool isOtherType = settings.payloadType >= 0 && packet.payloadType != settings.payloadType;
  if (isOtherType || fit == Fit::wrong) path.counts.wrongFormat++;
  return !isOtherType && fit == Fit::fits;
}

bool Reception::isLate(int64_t frame, int frames, const Arrival& arrival) const {
  int64_t leftNs = nsOfFrame(frame) + currentLinkNs - arrival.audioNs;
  // By the clock as well: after a step, what was played last is of another time.
  return isPlaying ? frame + frames <= nextPlayed && leftNs < PLAYED_AHEAD_NS : leftNs < 0;
}

void Reception::keep(Path& path, const RtpPacket& packet, const Arrival& arrival, bool isCopy) {
  int channels = path.format.channelCount();
  if (!ring || ring->channels != channels) useChannels(channels);
  int frames = path.format.framesPerPacket();
  counts.lastTimestamp = packet.timestamp;
  counts.lastMonotonicNs = arrival.monotonicNs;
  int64_t frame = 0;
  Place placed = place.take(packet.timestamp, frameAt(arrival.audioNs), arrival.monotonicNs, &frame);
  if (placed == Place::misfit) {
    path.counts.wild++;
    return;
  }
  if (placed == Place::anchored) {
    counts.anchors++;
    useChannels(channels);
    ArrivalWindow before;
    arrivals.moveTo(&before);
  }
  counts.framesPerPacket = frames;
  arrivals.take(frame, arrival.audioNs, arrival.monotonicNs);
  bool isNew = !ring->has(frame);
  if (isLate(frame, frames, arrival)) {
    path.counts.late++;
    if (isNew) counts.late++;
    return;
  }
  if (ring->write(frame, packet.payload, frames, settings.bytesPerSample, isCopy) > 0) counts.packets++;
}

PlayedBlock Reception::play(int64_t frame, int frames, int32_t* samples, bool* present, int32_t* ahead) {
  Lock lock(mutex);
  isPlaying = true;
  nextPlayed = frame + frames;
  PlayedBlock block;
  if (!ring) return block;
  block.epoch = epoch;
  block.channels = ring->channels;
  block.framesPerPacket = counts.framesPerPacket;
  ring->read(frame, frames, samples, present);
  for (int distance = 0; distance <= Repeat::HORIZON_FRAMES; distance++) {
    if (!ring->has(nextPlayed + distance)) continue;
    const int32_t* found = ring->at(nextPlayed + distance);
    std::copy(found, found + ring->channels, ahead);
    block.aheadFrames = distance;
    break;
  }
  return block;
}

void Reception::played(const Concealed& done) {
  Lock lock(mutex);
  counts.goodFrames += done.good;
  counts.repeatedFrames += done.repeated;
  counts.silentFrames += done.silent;
  counts.glitches += done.breaks;
}

void Reception::setLink(int64_t linkNs) {
  Lock lock(mutex);
  currentLinkNs = linkNs;
}

int64_t Reception::linkNs() {
  Lock lock(mutex);
  return currentLinkNs;
}

PathCounts Reception::pathCounts(int path, int64_t nowNs) {
  Lock lock(mutex);
  const Path& asked = *paths[static_cast<size_t>(path)];
  PathCounts found = asked.counts;
  found.lost = asked.account.lost;
  found.duplicate = asked.account.duplicates;
  found.reordered = asked.account.reordered;
  found.restarts = asked.account.restarts;
  found.sender = asked.gate.sender(nowNs);
  found.ssrc = asked.gate.synchronisationSource();
  found.seenFrameBytes = asked.format.seenFrameBytes();
  return found;
}

WholeCounts Reception::wholeCounts() {
  Lock lock(mutex);
  WholeCounts found = counts;
  found.lost = account.lost;
  return found;
}

Arrivals Reception::takeArrivals() {
  ArrivalWindow taken;
  {
    Lock lock(mutex);
    arrivals.moveTo(&taken);
  }
  return taken.summary();
}
