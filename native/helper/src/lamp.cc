/** Writes what drives a lamp. @source Linux Documentation/leds/leds-class.rst */
#include "lamp.h"

#include "files.h"

Answer setLamp(const Options& options, const std::string& lamp, const std::string& trigger, const std::string& brightness) {
  std::string folder = options.root + "/sys/class/leds/" + lamp;
  if (!exists(folder)) return refused("no_lamp", "there is no lamp " + lamp);
  if (int err = writeAttribute(folder + "/trigger", trigger))
    return failedCall("lamp_failed", lamp + " does not take the trigger " + trigger, err);
  if (trigger != "none") return done();
  if (int err = writeAttribute(folder + "/brightness", brightness))
    return failedCall("lamp_failed", lamp + " does not take the brightness " + brightness, err);
  return done();
}
