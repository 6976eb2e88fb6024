/** GET /usbip.sh: what uses the board's USB device on a Linux host, complete. */
import { quoteShell } from '../wire/quote-shell.ts'
import { type HostScriptOptions, hostPartsName } from './host-script.ts'
import { LINUX_HOST_TOOL } from './linux-host-tool.ts'

/**
 * A POSIX shell script: install (also without a word), attach, detach, status, remove, --help. The program in it is kept
 * as text, since a script that comes through a pipe has no file to copy itself from.
 */
export function linuxHostScript(options: HostScriptOptions): string {
  return `#!/bin/sh
# Uses the USB device of a Plantroom board on this machine:
#
#     sudo sh usbip.sh          installs what it needs, attaches the device and keeps it attached
#     sh usbip.sh --help        what else it can
#
# The values are for the program below.
# shellcheck disable=SC2034
set -u
host=${quoteShell(options.host)}
port=${quoteShell(String(options.port))}
device=${quoteShell(options.key ?? '')}
name=${quoteShell(hostPartsName(options))}
body=$(
  cat <<'END_OF_PROGRAM'
${LINUX_HOST_TOOL}
END_OF_PROGRAM
)
eval "$body"
`
}
