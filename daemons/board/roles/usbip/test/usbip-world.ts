/** The real board in the role usbip, over a tree like sysfs and with the real helper. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until as awaited } from '#kit/test/until.ts'
import { startBoard } from '../../../test/running-board.ts'
import { openImportReply, requestBytes } from '../wire/op.ts'
import { FakeUsb } from './fake-usb.ts'

const HELPER = join(
  import.meta.dirname,
  `../../../../../native/helper/prebuilds/linux-${process.arch}/plantroom-helper`,
)

/** The fake kernel obeys every few ms; the helper is real. */
export async function startWorld(t: Owner, sets: readonly string[] = []) {
  const usb = new FakeUsb(t)
  usb.plug({ busId: '1-1', serial: 'A5069RR4' })
  const kernel = setInterval(() => usb.obey(), 5)
  const socket = join(usb.root, 'helper.sock')
  const helper = spawn(HELPER, ['--listen', socket, '--sysroot', usb.root, '--state', usb.root], { stdio: 'ignore' })
  t.teardown(async () => {
    await ended(helper)
    clearInterval(kernel)
  })
  await until(() => existsSync(socket))
  const port = await freePort()
  const board = await startBoard(t, {
    sets: [
      ...['board.role=usbip', `usbip.sysfs=${usb.sysfs}`, `machine.helper=${socket}`, `usbip.port=${port}`],
      ...['usbip.host=127.0.0.1', 'usbip.look_ms=200', 'usbip.hold_ms=1500', ...sets],
    ],
  })
  return { usb, board, port, state: async () => (await board.get('/api/usbip')).body }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Waits for something. @returns whether it happened in time, for an assertion that names it */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  return await awaited('a change', isSo).then(
    () => true,
    () => false,
  )
}

/** Imports the device as a host does. @returns the status, and the connection */
export async function importFrom(t: Test, port: number): Promise<{ status: string; host: Socket }> {
  const host = connect({ port, host: '127.0.0.1' })
  t.teardown(() => host.destroy())
  host.on('error', () => {})
  host.write(requestBytes({ kind: 'import', busId: '1-1' }))
  const [reply] = await once(host, 'data')
  return { status: openImportReply(reply).status, host }
}

/** Runs a program to its end. @returns its output */
export function said(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += part
      })
    child.on('close', () => resolve(text))
  })
}
