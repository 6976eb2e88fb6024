/** The machine as a whole: its name, and its next start. */
#pragma once

#include <string>

#include "answer.h"
#include "command.h"
#include "options.h"

/** Gives the machine its static host name, by hostnamed. */
Answer setHostName(const Options& options, const std::string& name);

/** Asks logind for a restart of the machine; it follows after this answer. */
Answer reboot(const Options& options);

/** Runs one of the system's own programs below /usr/bin, and says how it went. */
Answer runSystem(const Options& options, const char* code, Command command);
