/** Opening, locking, setting and closing a line, on ptys. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { type CallError, openPty, PlantroomBinding, type PlantroomOpenOptions, type Pty } from '../index.ts'

/** A pty and a folder for lock files, both gone with the test. */
function bench(t: Test): { pty: Pty; lockFolder: string; open(options?: Partial<PlantroomOpenOptions>): Open } {
  const pty = openPty()
  const lockFolder = mkdtempSync(join(tmpdir(), 'lock-'))
  t.teardown(async () => {
    await pty.close()
    rmSync(lockFolder, { recursive: true })
  })
  const open = async (options: Partial<PlantroomOpenOptions> = {}) => {
    const port = await PlantroomBinding.open({ path: pty.path, baudRate: 9600, lockFolder, ...options })
    t.teardown(() => port.close())
    return port
  }
  return { pty, lockFolder, open }
}

type Open = ReturnType<typeof PlantroomBinding.open>

/** The error of an open that must fail. */
async function failure(open: Promise<unknown>): Promise<CallError> {
  try {
    await open
  } catch (error) {
    return error as CallError
  }
  throw new Error('opened, but should have failed')
}

function stty(path: string): string {
  return execFileSync('stty', ['-a', '-F', path], { encoding: 'utf8' })
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}

t.test('sets the line raw, at any rate, as another program reads it back', async (t) => {
  const { pty, open } = bench(t)
  const port = await open({ baudRate: 31_250, stopBits: 2 })
  t.same(await port.getBaudRate(), { baudRate: 31_250 }, 'MIDI has no B-constant')
  const seen = stty(pty.path)
  for (const flag of ['-icanon', '-echo', '-isig', '-opost', '-ixon', '-icrnl', 'cstopb', 'clocal', 'cs8'])
    t.match(seen, new RegExp(`(^|\\s)${flag}(\\s|;|$)`, 'm'), flag)
})

t.test('sets flow control, and changes it on the open line', async (t) => {
  const { pty, open } = bench(t)
  const port = await open({ rtscts: true })
  t.match(stty(pty.path), /(^|\s)crtscts/)
  await port.update({ rtscts: false, xon: true, xoff: true, baudRate: 115_200 })
  t.match(stty(pty.path), /-crtscts/)
  t.match(stty(pty.path), /(^|\s)ixon ixoff/m)
  t.match(stty(pty.path), /speed 115200 baud/)
})

t.test('refuses what the driver silently changed: a pty keeps neither parity nor seven bits', async (t) => {
  const { open, lockFolder } = bench(t)
  for (const [options, field] of [
    [{ parity: 'even' }, 'parity'],
    [{ parity: 'mark' }, 'parity'],
    [{ dataBits: 7 }, 'data_bits'],
  ] as const) {
    const error = await failure(open(options))
    t.match(error, { code: 'ECHANGED', syscall: 'TCGETS2', errno: 0, field })
  }
  t.same(readdirSync(lockFolder), [], 'no lock stays behind')
})

t.test('leaves the line as it was when an update is refused', async (t) => {
  const { open } = bench(t)
  const port = await open()
  const error = await failure(port.update({ parity: 'odd', baudRate: 300 }))
  t.match(error, { code: 'ECHANGED', field: 'parity', wanted: 'odd', got: 'none' })
  t.same(await port.getBaudRate(), { baudRate: 9600 })
  t.equal(port.openOptions.parity, 'none')
})

t.test('refuses 1.5 stop bits with anything but five data bits', async (t) => {
  const { open } = bench(t)
  const error = await failure(open({ stopBits: 1.5 }))
  t.match(error, { code: 'EINVAL', message: '1.5 stop bits exist with 5 data bits only, wanted with 8' })
  t.match(await failure(open({ baudRate: 0 })), { message: /baud rate is 0/ })
})

t.test('says which features a pty lacks', async (t) => {
  const { open } = bench(t)
  const port = await open()
  t.same(port.unsupported, ['rs485', 'low_latency', 'driver_counts', 'modem_lines'])
  t.equal(port.counts(), null)
  t.match(await failure(port.get()), { code: 'ENOTTY', syscall: 'TIOCMGET', errno: 25 })
  t.match(await failure(port.set({ rts: true })), { code: 'ENOTTY', syscall: 'TIOCMBIS' })
  t.match(await failure(port.waitModem(0x20)), { syscall: 'TIOCMIWAIT' })
  t.match(await failure(port.isTransmitterEmpty()), { syscall: 'TIOCSERGETLSR' })
  t.equal(port.outQueue(), 0)
})

t.test('opens with RS-485 and low latency asked for where the driver knows neither', async (t) => {
  const { open } = bench(t)
  const rs485 = { enabled: true, rtsOnSend: true, rxDuringTx: false, delayBeforeMs: 0, delayAfterMs: 0 }
  const port = await open({ rs485, lowLatency: true })
  t.ok(port.unsupported.includes('rs485'))
})

t.test('names the holder of the lock file', async (t) => {
  const { open, lockFolder, pty } = bench(t)
  const port = await open()
  const file = join(lockFolder, `LCK..pts_${basename(pty.path)}`)
  t.equal(readFileSync(file, 'utf8'), `${String(process.pid).padStart(10)}\n`)
  t.match(await failure(open()), { code: 'EBUSY', holder: process.pid, syscall: 'UUCP lock' })
  await port.close()
  t.notOk(existsSync(file), 'gone after close')
})

t.test('names the holder of a flock where lock files may not be written', async (t) => {
  const { open } = bench(t)
  await open({ lockFolder: '/nonexistent' })
  t.match(await failure(open({ lockFolder: '/nonexistent' })), { code: 'EBUSY', holder: process.pid, syscall: 'flock' })
})

t.test('respects the lock file of another living process, and takes over that of a dead one', async (t) => {
  const { open, lockFolder, pty } = bench(t)
  const file = join(lockFolder, `LCK..pts_${basename(pty.path)}`)
  const sleeper = spawn('sleep', ['60'])
  const ended = new Promise((resolve) => sleeper.once('exit', resolve))
  writeFileSync(file, `${String(sleeper.pid).padStart(10)}\n`)
  t.match(await failure(open()), { code: 'EBUSY', holder: sleeper.pid })
  sleeper.kill()
  await ended
  const port = await open()
  t.equal(readFileSync(file, 'utf8').trim(), String(process.pid))
  await port.close()
  writeFileSync(file, `${String(process.pid).padStart(10)}\n`)
  await open()
  t.pass('our own number in a file that we did not write is that of a dead process')
})

t.test('follows a symbolic link and locks the device behind it', async (t) => {
  const { open, lockFolder, pty } = bench(t)
  const link = join(lockFolder, 'usb-Maker_Adapter-if00')
  symlinkSync(pty.path, link)
  await open({ path: link })
  t.ok(existsSync(join(lockFolder, `LCK..pts_${basename(pty.path)}`)))
})

t.test('opens no file that is not a terminal', async (t) => {
  const { open, lockFolder } = bench(t)
  t.match(await failure(open({ path: '/dev/null' })), { code: 'ENOTTY' })
  t.match(await failure(open({ path: lockFolder })), { code: 'EISDIR', syscall: 'open' })
  t.match(await failure(open({ path: '/dev/ttyUSB999' })), { code: 'ENOENT' })
})

t.test('marks errors: with PARMRK an FF on the line reads as FF FF', async (t) => {
  const { open, pty } = bench(t)
  const port = await open({ markErrors: true })
  const buffer = Buffer.alloc(16)
  const read = port.read(buffer, 0, 16)
  await pty.write(Buffer.from([0x41, 0xff, 0x42]))
  const { bytesRead } = await read
  t.same([...buffer.subarray(0, bytesRead)], [0x41, 0xff, 0xff, 0x42])
})

t.test('ends reads, drains and blocked writes when it is closed', async (t) => {
  const { open } = bench(t)
  const port = await open()
  const read = failure(port.read(Buffer.alloc(8), 0, 8))
  const write = failure(port.write(Buffer.alloc(1_000_000)))
  await port.close()
  t.match(await read, { canceled: true })
  t.match(await write, { canceled: true })
  t.match(await failure(port.read(Buffer.alloc(8), 0, 8)), { canceled: true })
  t.match(await failure(port.drain()), { canceled: true, code: 'ECANCELED' })
  t.match(await failure(port.getBaudRate()), { code: 'ECANCELED' })
  await port.close()
})

t.test('ends with an error that is no cancel when the device goes', async (t) => {
  const { open, pty } = bench(t)
  const port = await open()
  const read = failure(port.read(Buffer.alloc(8), 0, 8))
  await pty.close()
  const error = await read
  t.notOk(error.canceled)
  t.match(error.code, /^(HANGUP|EIO)$/)
  t.notOk((await failure(port.write(Buffer.alloc(1)))).canceled)
})

t.test('leaves no descriptor and no lock behind in 1000 openings', async (t) => {
  const { open, pty, lockFolder } = bench(t)
  await (await open()).close()
  const before = descriptors()
  const close = async (options = {}) => {
    const port = await PlantroomBinding.open({ path: pty.path, baudRate: 9600, lockFolder, ...options })
    await port.close()
  }
  for (let count = 0; count < 1000; count++) await close()
  for (let count = 0; count < 100; count++) await failure(close({ dataBits: 7 }))
  t.equal(descriptors(), before)
  t.same(readdirSync(lockFolder), [])
})
