/** Reads the command line. */
#include "options.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char USAGE[] =
    "plantroom-helper - does for the network board what needs root\n"
    "\n"
    "  --listen PATH             socket to make; without it systemd hands one over\n"
    "  --user NAME, --group NAME who may ask, besides root and the user who starts it; may repeat\n"
    "  --state DIR               folder images are taken from; default /var/lib/plantroom/board\n"
    "  --install FILE            program that gets an image; default /etc/plantroom/install-firmware\n"
    "  --install-seconds N       time it has; default 900\n"
    "  --idle-seconds N          ends after that long without a request, 0 never; default 30, with --listen 0\n"
    "  --sysroot DIR             what stands before /sys, /etc and /usr/bin, for tests\n";

/** -1 where the word is no number up to a day. */
static int secondsOf(const char* word) {
  char* end = nullptr;
  long value = strtol(word, &end, 10);
  return *word == '\0' || *end != '\0' || value < 0 || value > 86400 ? -1 : static_cast<int>(value);
}

static bool addUser(const char* name, Options* options) {
  const struct passwd* user = getpwnam(name);
  if (user != nullptr) options->users.push_back(user->pw_uid);
  return user != nullptr;
}

static bool addGroup(const char* name, Options* options) {
  const struct group* group = getgrnam(name);
  if (group != nullptr) options->groups.push_back(group->gr_gid);
  return group != nullptr;
}

static bool take(const char* option, const char* value, Options* options) {
  if (strcmp(option, "--user") == 0) return addUser(value, options);
  if (strcmp(option, "--group") == 0) return addGroup(value, options);
  if (strcmp(option, "--install-seconds") == 0) return (options->installSeconds = secondsOf(value)) > 0;
  if (strcmp(option, "--idle-seconds") == 0) return (options->idleSeconds = secondsOf(value)) >= 0;
  if (*value != '/') return false;
  if (strcmp(option, "--listen") == 0) options->listenPath = value;
  else if (strcmp(option, "--sysroot") == 0) options->root = value;
  else if (strcmp(option, "--state") == 0) options->stateFolder = value;
  else if (strcmp(option, "--install") == 0) options->installer = value;
  else return false;
  return true;
}

bool readOptions(int count, char** words, Options* options) {
  bool hasIdle = false;
  for (int at = 1; at < count; at += 2) {
    if (at + 1 == count || !take(words[at], words[at + 1], options)) {
      fprintf(stderr, "plantroom-helper: cannot take %s%s%s\n\n%s", words[at], at + 1 < count ? " " : "",
              at + 1 < count ? words[at + 1] : " without a value", USAGE);
      return false;
    }
    hasIdle = hasIdle || strcmp(words[at], "--idle-seconds") == 0;
  }
  if (!options->listenPath.empty() && !hasIdle) options->idleSeconds = 0;
  options->users.push_back(geteuid());
  return true;
}
