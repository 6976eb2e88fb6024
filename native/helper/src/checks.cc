/** Checks words of a caller. */
#include "checks.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/** Takes a number of one to three digits that begins at `at`; false where there is none. */
static bool takeNumber(const std::string& word, size_t* at) {
  size_t begin = *at;
  while (*at < word.size() && isDigit(word[*at])) ++*at;
  return *at > begin && *at - begin <= 3 && (word[begin] != '0' || *at == begin + 1);
}

bool isBusId(const std::string& word) {
  size_t at = 0;
  if (!takeNumber(word, &at) || at >= word.size() || word[at++] != '-' || !takeNumber(word, &at)) return false;
  for (int hubs = 0; at < word.size(); hubs++)
    if (hubs == 6 || word[at++] != '.' || !takeNumber(word, &at)) return false;
  return true;
}

bool isHostLabel(const std::string& word) {
  if (word.empty() || word.size() > 63 || word.front() == '-' || word.back() == '-') return false;
  for (char c : word)
    if (!isDigit(c) && !isLetter(c) && c != '-') return false;
  return true;
}

bool isInterface(const std::string& word) {
  if (word.empty() || word.size() > 15 || !(isDigit(word.front()) || isLetter(word.front()))) return false;
  for (char c : word)
    if (!isDigit(c) && !isLetter(c) && c != '-' && c != '_' && c != '.') return false;
  return word != "lo";
}

/** In host order; 0 where the word is no address (0.0.0.0 is none that a host may have). */
static uint32_t addressOf(const std::string& word) {
  struct in_addr address;
  if (word.size() >= INET_ADDRSTRLEN || inet_pton(AF_INET, word.c_str(), &address) != 1) return 0;
  return ntohl(address.s_addr);
}

bool isHostAddress(const std::string& word) {
  uint32_t first = addressOf(word) >> 24;
  return first != 0 && first != 127 && first < 224;
}

/** 1 to 30, or 0 where that is no such number. */
static int prefixOf(const std::string& word) {
  if (word.empty() || word.size() > 2 || word.front() == '0') return 0;
  int bits = 0;
  for (char c : word) {
    if (!isDigit(c)) return 0;
    bits = bits * 10 + (c - '0');
  }
  return bits <= 30 ? bits : 0;
}

struct Network {
  uint32_t address = 0;
  uint32_t mask = 0;
};

static Network networkOf(const std::string& word) {
  size_t slash = word.find('/');
  if (slash == std::string::npos) return {};
  int bits = prefixOf(word.substr(slash + 1));
  std::string address = word.substr(0, slash);
  if (bits == 0 || !isHostAddress(address)) return {};
  return {addressOf(address), ~uint32_t{0} << (32 - bits)};
}

static bool isHostOf(const Network& network, uint32_t address) {
  uint32_t host = address & ~network.mask;
  return (address & network.mask) == (network.address & network.mask) && host != 0 && host != ~network.mask;
}

bool isAddressWithPrefix(const std::string& word) {
  Network network = networkOf(word);
  return network.mask != 0 && isHostOf(network, network.address);
}

bool isWithin(const std::string& addressWithPrefix, const std::string& gateway) {
  Network network = networkOf(addressWithPrefix);
  uint32_t address = addressOf(gateway);
  return address != network.address && isHostOf(network, address);
}

bool isLampWord(const std::string& word) {
  if (word.empty() || word.size() > 64 || word.front() == '.') return false;
  for (char c : word)
    if (!isDigit(c) && !isLetter(c) && c != ':' && c != '-' && c != '_' && c != '.' && c != '+') return false;
  return true;
}

bool isBrightness(const std::string& word) {
  if (word.empty() || word.size() > 5) return false;
  long value = 0;
  for (char c : word) {
    if (!isDigit(c)) return false;
    value = value * 10 + (c - '0');
  }
  return value <= 65535;
}
