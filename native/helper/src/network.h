/** The one file by which the board sets the address of the machine. */
#pragma once

#include <string>
#include <vector>

#include "answer.h"
#include "options.h"

/**
 * `dhcp INTERFACE` or `static INTERFACE ADDRESS/PREFIX GATEWAY [DNS,DNS]`, GATEWAY may be `-`; put in force at once. Without
 * servers for names the gateway is asked.
 */
Answer setNetwork(const Options& options, const std::vector<std::string>& words);
