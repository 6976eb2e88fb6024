/** How the helper was started; only root writes its command line. */
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

struct Options {
  /** Socket to make; empty: systemd hands one over. */
  std::string listenPath;
  /** Before /sys, /etc and /usr/bin: a test's own tree. */
  std::string root;
  /** The only folder from which an image is taken. */
  std::string stateFolder = "/var/lib/plantroom/board";
  /** The program that gets an image. */
  std::string installer = "/etc/plantroom/install-firmware";
  /** Seconds that program has. */
  int installSeconds = 900;
  /** Seconds without a request after which a helper that systemd started ends; 0 never. */
  int idleSeconds = 30;
  /** Who may ask, besides root and the user who started it. */
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

/** Reads the command line. @returns whether it could be read; else says why on standard error */
bool readOptions(int count, char** words, Options* options);
