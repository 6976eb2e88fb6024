/** Writes a file of networkd and has it read. @source systemd.network(5), networkctl(1) */
#include "network.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
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
  return refused("bad_network", "expected dhcp INTERFACE or static INTERFACE ADDRESS/PREFIX GATEWAY [DNS,DNS]");
}

/** As the C library asks. @source resolv.conf(5), MAXNS */
static const size_t MOST_SERVERS = 3;

/** A line for each server; empty where one is no address. */
static std::string serverLines(const std::string& servers) {
  std::string lines;
  size_t count = 0;
  for (size_t from = 0; from <= servers.size(); count++) {
    size_t end = std::min(servers.find(',', from), servers.size());
    std::string server = servers.substr(from, end - from);
    if (count == MOST_SERVERS || !isHostAddress(server)) return "";
    lines += "DNS=" + server + "\n";
    from = end + 1;
  }
  return lines;
}

/** The file's text; empty where the words are not what they must be. */
static std::string textOf(const std::vector<std::string>& words) {
  std::string head =
      "# Written for the network board's settings; changed there.\n[Match]\nName=" + words[1] + "\n\n[Network]\n";
  // As the image has it: where no server answers, 169.254.0.0/16, or nobody would reach a board that came back to DHCP.
  if (words[0] == "dhcp") return words.size() == 2 ? head + "DHCP=yes\nLinkLocalAddressing=yes\n" : "";
  if (words[0] != "static" || words.size() < 4 || words.size() > 5 || !isAddressWithPrefix(words[2])) return "";
  const bool hasGateway = words[3] != "-";
  if (hasGateway && (!isHostAddress(words[3]) || !isWithin(words[2], words[3]))) return "";
  std::string text = head + "DHCP=no\nAddress=" + words[2] + "\n" + (hasGateway ? "Gateway=" + words[3] + "\n" : "");
  // Where none is named: most gateways answer for names.
  if (words.size() == 4) return hasGateway ? text + "DNS=" + words[3] + "\n" : text;
  std::string servers = serverLines(words[4]);
  return servers.empty() ? "" : text + servers;
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
