/** Writes a file of networkd and has it read. @source systemd.network(5), networkctl(1) */
#include "network.h"

#include <errno.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "checks.h"
#include "files.h"
#include "machine.h"

/** Before what a system comes with: networkd takes the first file that matches. */
static const char NAME[] = "10-plantroom.network";

static std::string wholeFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

static Answer badWords() {
  return refused("bad_network", "expected dhcp INTERFACE or static INTERFACE ADDRESS/PREFIX GATEWAY");
}

/** The file's text; empty where the words are not what they must be. */
static std::string textOf(const std::vector<std::string>& words) {
  std::string head =
      "# Written for the network board's settings; changed there.\n[Match]\nName=" + words[1] + "\n\n[Network]\n";
  if (words[0] == "dhcp") return words.size() == 2 ? head + "DHCP=yes\n" : "";
  if (words[0] != "static" || words.size() != 4 || !isAddressWithPrefix(words[2])) return "";
  std::string text = head + "DHCP=no\nAddress=" + words[2] + "\n";
  if (words[3] == "-") return text;
  if (!isHostAddress(words[3]) || !isWithin(words[2], words[3])) return "";
  // Nothing else is known that could answer for names; most gateways do.
  return text + "Gateway=" + words[3] + "\nDNS=" + words[3] + "\n";
}

static Answer putInForce(const Options& options, const std::string& interface) {
  Answer read = runSystem(options, "network_failed", {"networkctl", {"--no-ask-password", "reload"}});
  if (!read.isOk()) return read;
  return runSystem(options, "network_failed", {"networkctl", {"--no-ask-password", "reconfigure", interface}});
}

Answer setNetwork(const Options& options, const std::vector<std::string>& words) {
  if (words.size() < 2 || !isInterface(words[1])) return badWords();
  std::string text = textOf(words);
  if (text.empty()) return badWords();
  if (!exists(options.root + "/sys/class/net/" + words[1]))
    return refused("no_interface", "there is no network interface " + words[1]);
  const std::string folder = options.root + "/etc/systemd/network";
  const std::string path = folder + "/" + NAME;
  const bool hadFile = exists(path);
  const std::string before = hadFile ? wholeFile(path) : "";
  if (int err = replaceFile(folder, NAME, text)) return failedCall("network_failed", "cannot write " + path, err);
  Answer answer = putInForce(options, words[1]);
  if (answer.isOk()) return answer;
  // What networkd did not take must not come into force at the next start of the machine.
  if (!hadFile) unlink(path.c_str());
  else if (int err = replaceFile(folder, NAME, before)) return failedCall("network_failed", "cannot restore " + path, err);
  return answer;
}
