/** RFC 3550 8.2 has a receiver keep to one source where two claim to be it; a sender that restarts has a new one. */
#include "sender-gate.h"

#include <utility>

Gate SenderGate::take(uint32_t address, uint32_t source, int64_t nowNs) {
  if (isOther(address, nowNs)) return Gate::otherSource;
  bool isNew = !isHeld(nowNs) || address != holder;
  if (!isNew && source != ssrc) {
    nextCount = source == nextSsrc ? nextCount + 1 : 1;
    nextSsrc = source;
    if (nextCount < NEW_IN_A_ROW) return Gate::otherSsrc;
    isNew = true;
  }
  nextCount = 0;
  if (isNew && (address != holder || source != ssrc)) hasChanged = true;
  holder = address;
  ssrc = source;
  heardNs = nowNs;
  return Gate::open;
}

bool SenderGate::takeChange() { return std::exchange(hasChanged, false); }
