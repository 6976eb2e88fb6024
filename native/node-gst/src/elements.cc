/** Registers the elements of our own. */
#include "elements.h"

#include "card-elements.h"

void addElements() {
  addRtpSink();
  addDrift();
  addCardSink();
  addCardSource();
  addRtpSource();
}
