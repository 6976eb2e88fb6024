/** A gain that moves between 0 and 1 along half a cosine, which has no corner at either end. */
#pragma once

#include <cstddef>
#include <vector>

class Fade {
 public:
  /** @param frames from one end to the other, at least 1 */
  explicit Fade(int frames);

  void up() {
    if (at < frames) at++;
  }
  void down() {
    if (at > 0) at--;
  }
  void close() { at = 0; }
  void open() { at = frames; }
  bool isOpen() const { return at == frames; }
  bool isClosed() const { return at == 0; }
  double gain() const { return gains[static_cast<size_t>(at)]; }

 private:
  int frames;
  int at = 0;
  std::vector<double> gains;
};

/** Half a cosine from 0 to 1 as `part` goes from 0 to 1. */
double halfCosine(double part);
