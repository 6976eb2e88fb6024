/** The timestamp alone tells the place; the clock only tells which lap of 2^32 it is (24.8 hours at 48 HZ). */
#include "stream-place.h"

#include <algorithm>

/** The frame nearest to `near` of which the wire has the last 32 bits. */
static int64_t nearest(uint32_t wire, int64_t near) {
  return near + static_cast<int32_t>(wire - static_cast<uint32_t>(near));
}

Place StreamPlace::take(uint32_t timestamp, int64_t near, int64_t nowNs, int64_t* frame) {
  *frame = nearest(timestamp - offset, near);
  bool isNear = *frame - near <= reach && near - *frame <= reach;
  if (isAnchored && isNear) {
    misfits = 0;
    fittedNs = nowNs;
    return Place::fits;
  }
  misfits = std::min(misfits + 1, MISFITS);
  bool isAnew = !isAnchored || (misfits >= MISFITS && nowNs - fittedNs > SILENCE_NS);
  if (!followsArrival || !isAnew) return Place::misfit;
  isAnchored = true;
  misfits = 0;
  fittedNs = nowNs;
  offset = timestamp - static_cast<uint32_t>(near);
  *frame = near;
  return Place::anchored;
}
