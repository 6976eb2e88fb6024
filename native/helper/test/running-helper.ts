/**
 * Runs the helper's real binary below a separate root, with a sysfs of plain files and programs that only record how
 * they are run.
 */
import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'

/** A running helper. */
export interface RunningHelper {
  /** Its socket. */
  path: string
  /** Prefix of /sys, /etc and /usr/bin. */
  root: string
  /** Folder of images. */
  state: string
  pid: number
  /** Sends bytes, and resolves with the whole answer once the connection ends. */
  say(bytes: string | Uint8Array): Promise<string>
  /** Programs run so far, with their arguments, in order. */
  ran(): string[]
  /** Contents of a file below the root. */
  file(name: string): string
  put(name: string, text: string): void
  /** Its standard error so far. */
  said(): string
}

/** The binary for this machine. */
export const helperBinary = join(import.meta.dirname, `../prebuilds/linux-${process.arch}/plantroom-helper`)

const READY_MS = 5000

/** Starts one; ended with the test. */
export async function startHelper(t: Test, args: readonly string[] = []): Promise<RunningHelper> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'helper-')))
  const state = join(root, 'state')
  const path = join(root, 'socket')
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  furnish(root, put)
  const given = ['--listen', path, '--sysroot', root, '--state', state, '--install', join(root, 'install'), ...args]
  const child = spawn(helperBinary, given, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(root, { recursive: true, force: true })
  })
  for (const endMs = Date.now() + READY_MS; !existsSync(path); ) {
    if (child.exitCode !== null || Date.now() > endMs) throw new Error(`the helper did not start: ${said}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const file = (name: string) => readFileSync(join(root, name), 'utf8')
  const ran = () => (existsSync(join(root, 'ran')) ? file('ran').trimEnd().split('\n') : [])
  return { path, root, state, pid: child.pid ?? 0, say: (bytes) => say(path, bytes), ran, file, put, said: () => said }
}

/** Creates a device with its own driver, a hub, an interface, and the system's programs. */
function furnish(root: string, put: (name: string, text: string) => void): void {
  for (const folder of ['state', 'etc/systemd/network', 'sys/class/net/eth0', 'usr/bin'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const name of ['usb/bind', 'usb/unbind', 'usbip-host/bind', 'usbip-host/unbind', 'usbip-host/match_busid'])
    put(`sys/bus/usb/drivers/${name}`, '')
  put('sys/bus/usb/drivers/usbip-host/rebind', '')
  for (const [busId, deviceClass] of [
    ['1-1', '00'],
    ['1-2', '09'],
  ]) {
    put(`sys/bus/usb/devices/${busId}/bDeviceClass`, `${deviceClass}\n`)
    driveBy(root, busId ?? '', 'usb')
  }
  for (const name of ['hostnamectl', 'networkctl', 'systemctl']) {
    put(
      `usr/bin/${name}`,
      `#!/bin/sh\necho "${name} $*" >>${root}/ran\n[ ! -e ${root}/fails ] || { cat ${root}/fails; exit 1; }\n`,
    )
    chmodSync(join(root, 'usr/bin', name), 0o755)
  }
}

/** Acts as the kernel: binds a device to a driver. `usbip-host` brings its attributes. */
export function driveBy(root: string, busId: string, driver: string): void {
  const device = join(root, 'sys/bus/usb/devices', busId)
  rmSync(join(device, 'driver'), { force: true })
  symlinkSync(`../../drivers/${driver}`, join(device, 'driver'))
  if (driver !== 'usbip-host') return
  writeFileSync(join(device, 'usbip_status'), '1\n')
  writeFileSync(join(device, 'usbip_sockfd'), '')
}

function say(path: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true })
    let answer = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text
    })
    // It may hang up before reading everything.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve(answer)
      else reject(error)
    })
    socket.on('end', () => {
      socket.end()
      resolve(answer)
    })
    socket.write(bytes)
  })
}
