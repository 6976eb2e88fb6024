/** The machine's name and its next start. */
#include "machine.h"

Answer runSystem(const Options& options, const char* code, Command command) {
  command.program = options.root + "/usr/bin/" + command.program;
  Outcome outcome = runCommand(command);
  return outcome.code == 0 ? done() : refused(code, sentenceOf(command, outcome));
}

Answer setHostName(const Options& options, const std::string& name) {
  return runSystem(options, "hostname_failed", {"hostnamectl", {"--no-ask-password", "--static", "set-hostname", name}});
}

Answer reboot(const Options& options) {
  return runSystem(options, "reboot_failed", {"systemctl", {"--no-ask-password", "--no-block", "reboot"}});
}
