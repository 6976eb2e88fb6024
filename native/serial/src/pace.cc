/** Ticks of a timer of the event loop. */
#include "pace.h"

#include <algorithm>
#include <utility>

#include "clock.h"

// So many pieces without a pause are a stream: more than those of an everyday answer.
static const int kStreamPieces = 16;
static const int kMostPieces = 64;
// A write takes so many off: where short answers follow questions without a pause, that is no stream.
static const int kPiecesOfAnswer = 4;
// What a UART hands up at once from its FIFO of 16 bytes.
static const size_t kPieceBytes = 8;
// A longer read costs little for each of its bytes, and its line may fill what the driver has room for before the tick.
static const size_t kShortRead = 512;

void Pace::every(uv_loop_t* loop, uint64_t ms) {
  everyMs = ms;
  if (ms == 0) leave();
  if (ms == 0 || timer != nullptr) return;
  timer = new uv_timer_t;
  timer->data = this;
  uv_timer_init(loop, timer);
  uv_unref(reinterpret_cast<uv_handle_t*>(timer));
}

void Pace::read(size_t length, double atUs) {
  if (everyMs == 0) return;
  const bool isPause = atUs - std::exchange(readAtUs, atUs) > pauseUs();
  if (length >= kShortRead) return leave();
  if (isOn) {
    row = std::min(kMostPieces, row + std::max(1, static_cast<int>(length / kPieceBytes)));
    return;
  }
  row = isPause ? 1 : row + 1;
  if (row < kStreamPieces) return;
  isOn = true;
  next();
}

void Pace::wrote() { row = std::max(0, row - kPiecesOfAnswer); }

void Pace::ticked() {
  if (!isOn) return;
  // A tick may come soon after the last one, so one that finds nothing says little.
  if (row == 0 || nowUs() - readAtUs > pauseUs()) return leave();
  next();
}

void Pace::leave() {
  row = 0;
  if (std::exchange(isOn, false)) uv_timer_stop(timer);
}

/** Whole multiples of the time, so that lines in a stream are read in one turn of the loop. */
void Pace::next() {
  uint64_t nowMs = uv_now(timer->loop);
  uv_timer_start(timer, onTimer, everyMs - nowMs % everyMs, 0);
}

void Pace::onTimer(uv_timer_t* handle) {
  Pace* pace = static_cast<Pace*>(handle->data);
  pace->tick(pace->owner);
}

void Pace::stop() {
  leave();
  everyMs = 0;
  if (timer == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(timer, nullptr)),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}
