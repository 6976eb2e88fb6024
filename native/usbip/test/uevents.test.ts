/** The kernel's word of devices: a made-up event of the loopback interface, which root may ask the kernel for. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { UeventSocket } from '../index.ts'

const TRIGGER = '/sys/class/net/lo/uevent'

function cannot(): string | false {
  try {
    accessSync(TRIGGER, constants.W_OK)
    return process.getuid?.() === 0 ? false : 'needs root'
  } catch {
    return `${TRIGGER} cannot be written here`
  }
}

function listen(t: Test): string[] {
  const seen: string[] = []
  const socket = new UeventSocket({
    onMessage: (message) => seen.push(Buffer.from(message).toString('latin1')),
    onLost: () => seen.push('lost'),
    onFailed: (error) => seen.push(String(error)),
  })
  t.teardown(() => socket.close())
  return seen
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (let i = 0; i < 100 && !isSo(); i++) await new Promise((resolve) => setTimeout(resolve, 20))
  return isSo()
}

t.test('hears the kernel', { skip: cannot() }, async (t) => {
  const seen = listen(t)
  writeFileSync(TRIGGER, 'change')
  t.ok(await until(() => seen.some((text) => text.startsWith('change@/devices/virtual/net/lo\0ACTION=change\0'))))
})

/** What a program that may could send to the kernel's group. */
const FORGER = `
import socket
forger = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)
forger.bind((0, 0))
forger.sendto(b'add@/devices/forged\\0ACTION=add\\0', (0, 1))
`

t.test('does not hear a program that talks like the kernel', { skip: cannot() }, async (t) => {
  const seen = listen(t)
  const done = spawnSync('python3', ['-c', FORGER], { encoding: 'utf8' })
  t.equal(done.status, 0, done.stderr)
  writeFileSync(TRIGGER, 'change')
  t.ok(await until(() => seen.some((text) => text.startsWith('change@'))), 'the real one came')
  t.notOk(seen.some((text) => text.includes('forged')))
})

t.test('is quiet after close', { skip: cannot() }, async (t) => {
  const seen: string[] = []
  const socket = new UeventSocket({
    onMessage: () => seen.push('message'),
    onLost: () => seen.push('lost'),
    onFailed: () => seen.push('failed'),
  })
  socket.close()
  writeFileSync(TRIGGER, 'change')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.same(seen, [])
})
