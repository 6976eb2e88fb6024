/** Two boards of the demo: one shares serial lines, the other a USB device if the kernel can. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { postForm, startBoard } from './board-client.ts'
import type { DaemonProcess } from './daemon-process.ts'
import { LOOPBACK, wantedOrFree } from './free-port.ts'
import { openNamedLine } from './named-line.ts'
import { startScale } from './scale.ts'
import type { Undo } from './undo.ts'

/** Port 80 needs root; these are next to the other daemons' ports. */
const PAGE_PORTS = { till: 3180, counter: 3181 } as const
/** The first port of most serial servers. */
const RAW_PORT = 4001
const RFC2217_PORT = 4002

/** The kernel's USB/IP driver, present if loaded. */
const USBIP_HOST = '/sys/bus/usb/drivers/usbip-host'

export interface DemoBoards {
  till: DaemonProcess
  counter: DaemonProcess
  /** Lines and TCP ports of the first board. */
  raw: { path: string; port: number }
  rfc2217: { path: string; port: number }
  /** Role of the second board. */
  counterRole: 'usbip' | 'serial'
}

/** @param stateFolder holds a folder for each board */
export async function startBoards(stateFolder: string, undo: Undo): Promise<DemoBoards> {
  const counterRole = existsSync(USBIP_HOST) ? 'usbip' : 'serial'
  const raw = { path: openedScale('till-scale', undo), port: await wantedOrFree(LOOPBACK, RAW_PORT) }
  const rfc2217 = { path: openedScale('parcel-scale', undo), port: await wantedOrFree(LOOPBACK, RFC2217_PORT) }
  const helper = counterRole === 'usbip' ? startHelper(join(stateFolder, 'helper.sock'), undo) : ''
  const sets = counterRole === 'usbip' ? ['board.role=usbip', `machine.helper=${JSON.stringify(helper)}`] : []
  const [till, counter] = await Promise.all([
    startBoard(
      {
        stateFolder,
        settings: { name: 'Till', hostname: 'till', role: 'serial' },
        pagePort: PAGE_PORTS.till,
        sets: linesOf([raw.path, rfc2217.path]),
      },
      undo,
    ),
    startBoard(
      {
        stateFolder,
        settings: { name: 'Counter', hostname: 'counter', role: counterRole },
        pagePort: PAGE_PORTS.counter,
        sets,
      },
      undo,
    ),
  ])
  await share(till.url, { port: '1', label: 'Till scale', mode: 'raw', tcp_port: String(raw.port) })
  await share(till.url, { port: '2', label: 'Parcel scale', mode: 'rfc2217', tcp_port: String(rfc2217.port) })
  return { till, counter, raw, rfc2217, counterRole }
}

function openedScale(name: string, undo: Undo): string {
  const line = openNamedLine(name)
  undo.push(() => line.close())
  undo.push(startScale(line))
  return line.path
}

function linesOf(paths: readonly string[]): string[] {
  return [`serial.devices=${JSON.stringify(paths)}`, `serial.host=${LOOPBACK}`]
}

async function share(url: string, form: Record<string, string>): Promise<void> {
  await postForm(url, '/api/serial', { enabled: '1', ...form })
}

/**
 * Starts the helper that hands a USB device to the kernel; it works only as root, and only acts when somebody shares a
 * device on the page.
 */
function startHelper(socket: string, undo: Undo): string {
  const program = join(import.meta.dirname, `native/helper/prebuilds/linux-${process.arch}/plantroom-helper`)
  const child = spawn(program, ['--listen', socket], { stdio: 'ignore', detached: true })
  undo.push(() => ended(child))
  return socket
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || !child.kill('SIGTERM')) return
  await once(child, 'exit')
}
