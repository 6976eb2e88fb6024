/** Line settings and how they reach the driver: TCSETS2, TIOCSRS485, TIOCSSERIAL, each read back. */
#pragma once

#include "failure.h"

enum class Parity { none = 0, odd = 1, even = 2, mark = 3, space = 4 };

/** RS-485 direction control by the driver; delays in milliseconds. */
struct Rs485 {
  bool isGiven = false;
  bool enabled = false;
  bool rtsOnSend = false;
  bool rxDuringTx = false;
  unsigned delayBeforeMs = 0;
  unsigned delayAfterMs = 0;
};

struct Settings {
  unsigned baud = 9600;
  int dataBits = 8;
  Parity parity = Parity::none;
  /** CSTOPB: two stop bits, 1.5 with five data bits. */
  bool twoStops = false;
  bool rtscts = false;
  bool xon = false;
  bool xoff = false;
  bool xany = false;
  bool hupcl = true;
  bool markErrors = false;
  bool lowLatency = false;
  Rs485 rs485;
};

/** Features a driver may lack, as bits of `unsupported`. */
enum Feature { kRs485 = 1, kLowLatency = 2, kDriverCounts = 4, kModemLines = 8 };

/** True where the errno of an ioctl says that the driver does not know it. */
bool isUnknownIoctl(int err);

/** Sets everything and reads it back; adds what the driver lacks to `unsupported`. */
Failure applySettings(int fd, const Settings& settings, int* unsupported);

/** Bits per second as the driver has them. */
Failure readBaud(int fd, unsigned* baud);
