/** /usbip.ps1: what uses the board's USB device on a Windows host, complete. */
import { quotePowerShell } from '../wire/quote-power-shell.ts'
import { type HostScriptOptions, hostPartsName } from './host-script.ts'
import { WINDOWS_HOST_TOOL } from './windows-host-tool.ts'

/** How it is called; the script hands it on to its block. */
const WORDS = "param([Parameter(Position = 0)][string]$Verb = 'install', [string]$Device = '', [switch]$Help)"

/** A piped script has no path: `exit` would close the window it is pasted into. */
const START = '$PlantroomEnd = & $Plantroom @PSBoundParameters; if ($PSCommandPath) { exit $PlantroomEnd }'

/**
 * A script for Windows PowerShell 5.1 and later, in ASCII: install (also without a word), attach, detach, status, remove,
 * -Help. All of it is one block, whose text `install` writes down: a script that is piped has no file to copy.
 */
export function windowsHostScript(options: HostScriptOptions): string {
  return `# Uses the USB device of a Plantroom board on this machine. In a PowerShell of an administrator:
#
#     powershell -ExecutionPolicy Bypass -File usbip.ps1          installs what it needs, attaches the device, keeps it
#     powershell -ExecutionPolicy Bypass -File usbip.ps1 -Help    what else it can
${WORDS}
$Plantroom = {
${WORDS}
$PlantroomWords = ${quotePowerShell(WORDS)}
$PlantroomStart = ${quotePowerShell(START)}

$BoardHost = ${quotePowerShell(options.host)}
$BoardPort = ${quotePowerShell(String(options.port))}
$BoardDevice = ${quotePowerShell(options.key ?? '')}
$PartsName = ${quotePowerShell(hostPartsName(options))}
${WINDOWS_HOST_TOOL}
}
${START}
`.replaceAll('\n', '\r\n')
}
