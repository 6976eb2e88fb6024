/** The list of verbs: how many words, whether a descriptor, and who does it. */
#include "verbs.h"

#include "checks.h"
#include "installer.h"
#include "lamp.h"
#include "machine.h"
#include "network.h"
#include "usbip.h"

using Words = std::vector<std::string>;

struct Verb {
  const char* name;
  size_t least;
  size_t most;
  bool takesSocket;
  Answer (*run)(const Options& options, const Request& request);
};

static Answer onDevice(const Request& request, Answer (*run)(const Options&, const std::string&), const Options& options) {
  if (!isBusId(request.words[1])) return refused("bad_busid", "expected a bus id such as 1-1.4");
  return run(options, request.words[1]);
}

static const Verb VERBS[] = {
    {"usbip-bind", 1, 1, false, [](const Options& o, const Request& r) { return onDevice(r, bindDevice, o); }},
    {"usbip-unbind", 1, 1, false, [](const Options& o, const Request& r) { return onDevice(r, unbindDevice, o); }},
    {"usbip-attach", 1, 1, true,
     [](const Options& o, const Request& r) {
       if (!isBusId(r.words[1])) return refused("bad_busid", "expected a bus id such as 1-1.4");
       return attachHost(o, r.words[1], r.socket);
     }},
    {"usbip-detach", 1, 1, false, [](const Options& o, const Request& r) { return onDevice(r, detachHost, o); }},
    {"hostname", 1, 1, false,
     [](const Options& o, const Request& r) {
       if (!isHostLabel(r.words[1])) return refused("bad_hostname", "expected one name of letters, digits and hyphens");
       return setHostName(o, r.words[1]);
     }},
    {"network", 2, 5, false,
     [](const Options& o, const Request& r) { return setNetwork(o, Words(r.words.begin() + 1, r.words.end())); }},
    {"reboot", 0, 0, false, [](const Options& o, const Request&) { return reboot(o); }},
    {"lamp", 3, 3, false,
     [](const Options& o, const Request& r) {
       if (!isLampWord(r.words[1]) || !isLampWord(r.words[2]) || !isBrightness(r.words[3]))
         return refused("bad_lamp", "expected a lamp, a trigger, and a brightness of at most 65535");
       return setLamp(o, r.words[1], r.words[2], r.words[3]);
     }},
    {"install", 1, 1, false,
     [](const Options& o, const Request& r) { return installImage(o, r.words[1], r.caller); }},
};

Answer carryOut(const Options& options, const Request& request) {
  for (const Verb& verb : VERBS) {
    if (request.words[0] != verb.name) continue;
    size_t count = request.words.size() - 1;
    if (count < verb.least || count > verb.most)
      return refused("bad_request", request.words[0] + " takes another number of words");
    if ((request.socket >= 0) != verb.takesSocket)
      return refused("bad_descriptor", verb.takesSocket ? "exactly one descriptor must come with this verb"
                                                        : "no descriptor may come with this verb");
    return verb.run(options, request);
  }
  return refused("unknown_verb", "this helper has no such verb");
}
