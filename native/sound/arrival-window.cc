/** A bounded store of transits; the extremes are of all packets. */
#include "arrival-window.h"

#include <algorithm>

#include "audio-time.h"

void ArrivalWindow::take(int64_t frame, int64_t audioNs, int64_t monotonicNs) {
  int64_t takenNs = nsOfFrame(frame);
  int64_t transitNs = audioNs - takenNs;
  int64_t slowNs = monotonicNs - takenNs;
  bool isFirst = span.packets == 0;
  if (isFirst || transitNs < span.leastNs) span.leastNs = transitNs;
  if (isFirst || transitNs > span.mostNs) span.mostNs = transitNs;
  if (isFirst || slowNs < fastestNs) {
    fastestNs = slowNs;
    span.fastestMonotonicNs = monotonicNs;
    span.fastestFrame = frame;
  }
  if (transits.size() < MOST) transits.push_back(transitNs);
  else transits[span.packets % MOST] = transitNs;
  span.packets++;
}

void ArrivalWindow::moveTo(ArrivalWindow* other) {
  other->span = span;
  other->transits.swap(transits);
  transits.clear();
  span = Arrivals();
}

Arrivals ArrivalWindow::summary() {
  if (transits.empty()) return span;
  std::sort(transits.begin(), transits.end());
  span.medianNs = transits[transits.size() / 2];
  span.p99Ns = transits[std::min(transits.size() - 1, transits.size() * 99 / 100)];
  return span;
}
