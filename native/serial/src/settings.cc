/** Line settings by TCSETS2, TIOCSRS485 and TIOCSSERIAL, compared with what the driver then has. */
#include "settings.h"

// The kernel's own termios: glibc's has neither BOTHER nor c_ispeed.
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <linux/serial.h>
#include <sys/ioctl.h>

#include <string>

bool isUnknownIoctl(int err) {
  return err == ENOTTY || err == EINVAL || err == ENOSYS || err == EOPNOTSUPP;
}

static unsigned sizeFlag(int dataBits) {
  switch (dataBits) {
    case 5: return CS5;
    case 6: return CS6;
    case 7: return CS7;
    default: return CS8;
  }
}

static unsigned parityFlags(Parity parity) {
  switch (parity) {
    case Parity::none: return 0;
    case Parity::odd: return PARENB | PARODD;
    case Parity::even: return PARENB;
    case Parity::mark: return PARENB | PARODD | CMSPAR;
    case Parity::space: return PARENB | CMSPAR;
  }
  return 0;
}

static std::string parityName(unsigned flags) {
  if (!(flags & PARENB)) return "none";
  if (flags & CMSPAR) return flags & PARODD ? "mark" : "space";
  return flags & PARODD ? "odd" : "even";
}

static std::string sizeName(unsigned flags) {
  switch (flags & CSIZE) {
    case CS5: return "5";
    case CS6: return "6";
    case CS7: return "7";
    default: return "8";
  }
}

/** Rates with a constant of their own. */
static const unsigned kRates[][2] = {
    {50, B50},           {75, B75},           {110, B110},         {134, B134},         {150, B150},
    {200, B200},         {300, B300},         {600, B600},         {1200, B1200},       {1800, B1800},
    {2400, B2400},       {4800, B4800},       {9600, B9600},       {19200, B19200},     {38400, B38400},
    {57600, B57600},     {115200, B115200},   {230400, B230400},   {460800, B460800},   {500000, B500000},
    {576000, B576000},   {921600, B921600},   {1000000, B1000000}, {1152000, B1152000}, {1500000, B1500000},
    {2000000, B2000000}, {2500000, B2500000}, {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000},
};

/** BOTHER only where it must be: programs over glibc's termios (stty) read it as rate 0. */
static unsigned rateFlags(unsigned baud) {
  for (const auto& rate : kRates)
    if (rate[0] == baud) return rate[1];
  // The input's field too: left at zero it would mean "as output" on some drivers only.
  return BOTHER | (BOTHER << IBSHIFT);
}

static const unsigned kParityFlags = PARENB | PARODD | CMSPAR;
static const unsigned kFlowInput = IXON | IXOFF | IXANY;

static void fill(struct termios2* t, const Settings& s) {
  t->c_iflag = 0;
  if (s.xon) t->c_iflag |= IXON;
  if (s.xoff) t->c_iflag |= IXOFF;
  if (s.xany) t->c_iflag |= IXANY;
  if (s.markErrors) t->c_iflag |= PARMRK | INPCK;
  t->c_oflag = 0;
  t->c_lflag = 0;
  t->c_cflag = CREAD | CLOCAL | rateFlags(s.baud) | sizeFlag(s.dataBits) | parityFlags(s.parity);
  if (s.twoStops) t->c_cflag |= CSTOPB;
  if (s.rtscts) t->c_cflag |= CRTSCTS;
  if (s.hupcl) t->c_cflag |= HUPCL;
  t->c_ispeed = s.baud;
  t->c_ospeed = s.baud;
  // One byte is enough to wake, so that read answers EAGAIN for "nothing yet" and 0 for "hung up" alone.
  t->c_cc[VMIN] = 1;
  t->c_cc[VTIME] = 0;
}

static Failure changed(const char* call, const char* field, std::string wanted, std::string got) {
  Failure failure;
  failure.call = call;
  failure.field = field;
  failure.wanted = wanted;
  failure.got = got;
  return failure;
}

static std::string flowName(const struct termios2& t) {
  std::string name;
  if (t.c_cflag & CRTSCTS) name += "rtscts ";
  if (t.c_iflag & IXON) name += "xon ";
  if (t.c_iflag & IXOFF) name += "xoff ";
  if (t.c_iflag & IXANY) name += "xany ";
  return name.empty() ? "none" : name.substr(0, name.size() - 1);
}

/** A divisor rarely meets a rate exactly; 2 % is the kernel's own bound in tty_termios_encode_baud_rate. */
static bool isNear(unsigned wanted, unsigned got) {
  unsigned slack = wanted / 50;
  return got + slack >= wanted && got <= wanted + slack;
}

static Failure compare(const struct termios2& wanted, const struct termios2& got) {
  const char* call = "TCGETS2";
  if (!isNear(wanted.c_ospeed, got.c_ospeed) || !isNear(wanted.c_ispeed, got.c_ispeed))
    return changed(call, "baud", std::to_string(wanted.c_ospeed), std::to_string(got.c_ospeed));
  if ((wanted.c_cflag ^ got.c_cflag) & CSIZE)
    return changed(call, "data_bits", sizeName(wanted.c_cflag), sizeName(got.c_cflag));
  if ((wanted.c_cflag ^ got.c_cflag) & kParityFlags)
    return changed(call, "parity", parityName(wanted.c_cflag), parityName(got.c_cflag));
  if ((wanted.c_cflag ^ got.c_cflag) & CSTOPB)
    return changed(call, "stop_bits", wanted.c_cflag & CSTOPB ? "CSTOPB" : "1", got.c_cflag & CSTOPB ? "CSTOPB" : "1");
  if (((wanted.c_cflag ^ got.c_cflag) & CRTSCTS) || ((wanted.c_iflag ^ got.c_iflag) & kFlowInput))
    return changed(call, "flow", flowName(wanted), flowName(got));
  if ((wanted.c_iflag ^ got.c_iflag) & ~kFlowInput)
    return changed(call, "c_iflag", std::to_string(wanted.c_iflag), std::to_string(got.c_iflag));
  if (wanted.c_oflag != got.c_oflag)
    return changed(call, "c_oflag", std::to_string(wanted.c_oflag), std::to_string(got.c_oflag));
  if (wanted.c_lflag != got.c_lflag)
    return changed(call, "c_lflag", std::to_string(wanted.c_lflag), std::to_string(got.c_lflag));
  if ((wanted.c_cflag ^ got.c_cflag) & (CREAD | CLOCAL | HUPCL))
    return changed(call, "c_cflag", std::to_string(wanted.c_cflag), std::to_string(got.c_cflag));
  return {};
}

static Failure applyTermios(int fd, const Settings& settings) {
  struct termios2 wanted;
  if (ioctl(fd, TCGETS2, &wanted) < 0) return failedCall("TCGETS2", errno);
  fill(&wanted, settings);
  if (ioctl(fd, TCSETS2, &wanted) < 0) return failedCall("TCSETS2", errno);
  struct termios2 got;
  if (ioctl(fd, TCGETS2, &got) < 0) return failedCall("TCGETS2", errno);
  return compare(wanted, got);
}

static std::string rs485Name(const struct serial_rs485& r) {
  if (!(r.flags & SER_RS485_ENABLED)) return "off";
  return std::string("on, rts_on_send ") + (r.flags & SER_RS485_RTS_ON_SEND ? "1" : "0") + ", rx_during_tx " +
         (r.flags & SER_RS485_RX_DURING_TX ? "1" : "0") + ", delays " + std::to_string(r.delay_rts_before_send) + "/" +
         std::to_string(r.delay_rts_after_send) + " ms";
}

static Failure applyRs485(int fd, const Rs485& s, int* unsupported) {
  struct serial_rs485 now = {};
  if (ioctl(fd, TIOCGRS485, &now) < 0) {
    if (!isUnknownIoctl(errno)) return failedCall("TIOCGRS485", errno);
    *unsupported |= kRs485;
    return {};
  }
  if (!s.isGiven) return {};
  struct serial_rs485 wanted = {};
  if (s.enabled) {
    // Exactly one of the two polarities: the kernel repairs anything else by its own taste.
    wanted.flags = SER_RS485_ENABLED | (s.rtsOnSend ? SER_RS485_RTS_ON_SEND : SER_RS485_RTS_AFTER_SEND);
    if (s.rxDuringTx) wanted.flags |= SER_RS485_RX_DURING_TX;
    wanted.delay_rts_before_send = s.delayBeforeMs;
    wanted.delay_rts_after_send = s.delayAfterMs;
  }
  struct serial_rs485 sent = wanted;
  if (ioctl(fd, TIOCSRS485, &sent) < 0) return failedCall("TIOCSRS485", errno);
  struct serial_rs485 got = {};
  if (ioctl(fd, TIOCGRS485, &got) < 0) return failedCall("TIOCGRS485", errno);
  if (rs485Name(got) != rs485Name(wanted)) return changed("TIOCGRS485", "rs485", rs485Name(wanted), rs485Name(got));
  return {};
}

/** A wish, not a promise: a driver that keeps the flag off is noted as lacking it, and the line opens. */
static Failure applyLowLatency(int fd, bool wanted, int* unsupported) {
  struct serial_struct serial = {};
  if (ioctl(fd, TIOCGSERIAL, &serial) < 0) {
    if (!isUnknownIoctl(errno)) return failedCall("TIOCGSERIAL", errno);
    *unsupported |= kLowLatency;
    return {};
  }
  bool isSet = serial.flags & ASYNC_LOW_LATENCY;
  if (isSet == wanted) return {};
  serial.flags = wanted ? serial.flags | ASYNC_LOW_LATENCY : serial.flags & ~ASYNC_LOW_LATENCY;
  if (ioctl(fd, TIOCSSERIAL, &serial) < 0) {
    if (!isUnknownIoctl(errno) && errno != EPERM) return failedCall("TIOCSSERIAL", errno);
    *unsupported |= kLowLatency;
    return {};
  }
  struct serial_struct got = {};
  if (ioctl(fd, TIOCGSERIAL, &got) < 0) return failedCall("TIOCGSERIAL", errno);
  if (wanted && !(got.flags & ASYNC_LOW_LATENCY)) *unsupported |= kLowLatency;
  return {};
}

Failure applySettings(int fd, const Settings& settings, int* unsupported) {
  Failure failure = applyTermios(fd, settings);
  if (!failure.failed()) failure = applyRs485(fd, settings.rs485, unsupported);
  if (!failure.failed()) failure = applyLowLatency(fd, settings.lowLatency, unsupported);
  return failure;
}

Failure readBaud(int fd, unsigned* baud) {
  struct termios2 now;
  if (ioctl(fd, TCGETS2, &now) < 0) return failedCall("TCGETS2", errno);
  *baud = now.c_ospeed;
  return {};
}
