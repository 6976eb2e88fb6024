/** Lines over ptys, as the rules of a daemon see them. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#kit/log.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { openPty, type Pty } from '#native/serial/index.ts'
import type { Line, LineSettings } from '../../line/line.ts'
import { createSerialOpener } from '../../line/serial-line.ts'
import { plainLine } from './fake-line.ts'

const SETTINGS: LineSettings = plainLine

const opener = createSerialOpener({ log: silentLog })

async function bench(t: Test, settings: Partial<LineSettings> = {}): Promise<{ pty: Pty; line: Line }> {
  const pty = openPty()
  const line = await opener.open(pty.path, { ...SETTINGS, ...settings })
  t.teardown(async () => {
    await line.close()
    await pty.close()
  })
  return { pty, line }
}

function collect(onBytes: (handler: (bytes: Uint8Array) => void) => void, length: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const pieces: Uint8Array[] = []
    let have = 0
    onBytes((bytes) => {
      pieces.push(bytes)
      have += bytes.length
      if (have >= length) resolve(Buffer.concat(pieces))
    })
  })
}

t.test('carries bytes both ways, and timestamps those it read', async (t) => {
  const { pty, line } = await bench(t)
  const there = collect((handler) => pty.onBytes(handler), 3)
  await line.write(Uint8Array.of(0, 0xff, 0x11))
  await line.drain()
  t.same([...(await there)], [0, 0xff, 0x11])
  const beforeUs = Number(process.hrtime.bigint() / 1000n)
  const back = new Promise<[Uint8Array, number]>((resolve) => line.onBytes((...facts) => resolve(facts)))
  await pty.write(Uint8Array.of(0x13, 0x03))
  const [bytes, atUs] = await back
  t.same([...bytes], [0x13, 0x03])
  t.ok(atUs >= beforeUs && atUs <= Number(process.hrtime.bigint() / 1000n))
})

t.test('keeps the order of writes that nobody waited for', async (t) => {
  const { pty, line } = await bench(t)
  const bytes = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, at) => (at * 7) >> 3))
  const there = collect((handler) => pty.onBytes(handler), bytes.length)
  const writes: Promise<void>[] = []
  for (let at = 0; at < bytes.length; at += 999) writes.push(line.write(bytes.subarray(at, at + 999)))
  await Promise.all(writes)
  t.ok((await there).equals(bytes))
})

t.test('resolves a write only when the driver has taken it all', async (t) => {
  const { pty, line } = await bench(t)
  let isTaken = false
  const write = line.write(new Uint8Array(300_000)).then(() => {
    isTaken = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isTaken)
  const there = collect((handler) => pty.onBytes(handler), 300_000)
  await write
  t.equal((await there).length, 300_000)
})

t.test('slows the line while paused and loses nothing', async (t) => {
  const { pty, line } = await bench(t)
  const bytes = Buffer.from(Uint8Array.from({ length: 500_000 }, (_, at) => (at * 7) >> 3))
  let isTaken = false
  let have = 0
  const pieces: Uint8Array[] = []
  const done = new Promise<void>((resolve) => {
    line.onBytes((piece) => {
      pieces.push(piece)
      have += piece.length
      if (have === bytes.length) resolve()
    })
  })
  line.pause()
  const write = pty.write(bytes).then(() => {
    isTaken = true
  })
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isTaken, 'the far end is held back')
  t.equal(have, 0, 'nothing is handed over')
  line.resume()
  await Promise.all([write, done])
  t.ok(Buffer.concat(pieces).equals(bytes))
})

/** Waits until bytes can be read from the device; the kernel takes its own time to move them. */
function arrived(path: string): void {
  const wait = 'import os, select, sys; select.select([os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)], [], [], 10)'
  execFileSync('python3', ['-c', wait, path])
}

t.test('sends at once on a pty, but only where nothing waits, and keeps the order', async (t) => {
  const { pty, line } = await bench(t)
  const first = Uint8Array.of(1, 2, 3)
  t.equal(line.prompt?.send(first), 3)
  const much = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) >> 3))
  // The driver has no room for all of it.
  const taken = line.prompt?.send(much) ?? 0
  t.ok(taken > 0 && taken < much.length, `${taken} bytes`)
  const rest = line.write(much.subarray(taken))
  t.equal(line.prompt?.send(first), 0, 'bytes wait before it')
  const last = line.write(first)
  const there = await collect((handler) => pty.onBytes(handler), 300_006)
  await Promise.all([rest, last])
  t.ok(there.equals(Buffer.concat([first, much, first])))
  t.equal(line.prompt?.send(first), 3)
  await line.close()
  t.equal(line.prompt?.send(first), 0)
})

t.test('reads what the driver has before a wait ends', async (t) => {
  const { pty, line } = await bench(t)
  const seen: string[] = []
  line.onBytes((bytes) => seen.push(`bytes ${[...bytes]}`))
  for (const delayMs of [0, 0.25]) {
    await new Promise<void>((resolve) => {
      line.prompt?.readAfter(delayMs, () => {
        seen.push('waited')
        resolve()
      })
      seen.push('set')
      // Neither the bytes nor the end of the wait are seen while this blocks.
      void pty.write(Uint8Array.of(7))
      arrived(pty.path)
    })
  }
  t.same(seen, ['set', 'bytes 7', 'waited', 'set', 'bytes 7', 'waited'])
})

t.test('a wait that was cancelled or replaced, or whose line was closed, does not end', async (t) => {
  const { line } = await bench(t)
  line.onBytes(() => {})
  const ended: string[] = []
  line.prompt?.readAfter(0, () => ended.push('cancelled at once')).cancel()
  line.prompt?.readAfter(0.1, () => ended.push('cancelled')).cancel()
  line.prompt?.readAfter(0, () => ended.push('replaced at once'))
  line.prompt?.readAfter(0.1, () => ended.push('replaced'))
  await new Promise<void>((resolve) => line.prompt?.readAfter(0.2, resolve))
  line.prompt?.readAfter(0.1, () => ended.push('closed'))
  const closing = line.close()
  line.prompt?.readAfter(0, () => ended.push('closed at once'))
  await closing
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  t.same(ended, [])
})

t.test('discards bytes that came while paused, when flushed', async (t) => {
  const { pty, line } = await bench(t)
  const seen: number[] = []
  const last = new Promise<void>((resolve) => {
    line.onBytes((bytes) => {
      seen.push(...bytes)
      if (bytes.includes(2)) resolve()
    })
  })
  line.pause()
  await pty.write(Uint8Array.of(1, 1, 1))
  arrived(pty.path)
  await line.flush()
  line.resume()
  await pty.write(Uint8Array.of(2))
  await last
  t.same(seen, [2])
})

t.test('a write that a flush discarded has failed, and the next one is sent', async (t) => {
  const { pty, line } = await bench(t)
  const big = line.write(new Uint8Array(200_000))
  const failed = t.rejects(big, { code: 'line_write_failed', message: /thrown away/ })
  await line.flush()
  await failed
  const heard = new Promise<void>((resolve) => pty.onBytes((bytes) => bytes.includes(7) && resolve()))
  await line.write(Uint8Array.of(7))
  await heard
})

t.test('reports once that the device is gone, and refuses writes from then on', async (t) => {
  const { pty, line } = await bench(t)
  line.onBytes(() => undefined)
  const faults: Fault[] = []
  const gone = new Promise<void>((resolve) => {
    line.onGone((fault) => {
      faults.push(fault)
      resolve()
    })
  })
  await pty.close()
  await gone
  await t.rejects(line.write(Uint8Array.of(1)), { code: 'line_closed' })
  await t.rejects(line.drain(), { code: 'line_closed' })
  t.equal(line.driverCounts(), null)
  await line.close()
  t.same(
    faults.map((fault) => fault.code),
    ['line_gone'],
  )
})

t.test('reports it while paused, with a write under way, and to a handler that came late', async (t) => {
  const { pty, line } = await bench(t)
  line.onBytes(() => undefined)
  line.pause()
  const write = line.write(new Uint8Array(300_000))
  const refused = t.rejects(write, { code: /^line_(write_failed|closed)$/ })
  await pty.close()
  await refused
  const fault = await new Promise<Fault>((resolve) => line.onGone(resolve))
  t.equal(fault.code, 'line_gone')
})

t.test('reports it if a write finds the device gone before its hang-up is read', async (t) => {
  const { pty, line } = await bench(t)
  const gone = new Promise<Fault>((resolve) => line.onGone(resolve))
  // Nobody reads, so that only the write can find it; the stream then closes the port on its own.
  line.pause()
  await pty.close()
  await t.rejects(line.write(Uint8Array.of(1)))
  t.equal((await gone).code, 'line_gone')
})

t.test('has no counts of a device that is gone but not yet reported', async (t) => {
  const { pty, line } = await bench(t)
  const closing = pty.close()
  // The far end closes on another thread while this turn lasts, so that the loss cannot be reported in between.
  for (let times = 0; times < 20_000; times++) if (line.driverCounts() !== null) t.fail('a pty keeps no counts')
  await closing
  t.equal(line.driverCounts(), null)
})

t.test('says nothing of a device lost after close', async (t) => {
  const { pty, line } = await bench(t)
  line.onGone(() => t.fail('told'))
  await line.close()
  await pty.close()
  await new Promise((resolve) => setImmediate(resolve))
  await t.rejects(line.write(Uint8Array.of(1)), { code: 'line_closed' })
  await line.close()
})

t.test('opens by a stable name that links to the device', async (t) => {
  const pty = openPty()
  const folder = mkdtempSync(join(tmpdir(), 'by-id-'))
  const link = join(folder, 'usb-Maker_Adapter_A1-if00-port0')
  symlinkSync(pty.path, link)
  const line = await opener.open(link, SETTINGS)
  t.teardown(async () => {
    await line.close()
    await pty.close()
    rmSync(folder, { recursive: true })
  })
  const there = collect((handler) => pty.onBytes(handler), 1)
  await line.write(Uint8Array.of(7))
  t.same([...(await there)], [7])
})

t.test('names what a pty cannot do', async (t) => {
  const { line } = await bench(t, {
    low_latency: true,
    rs485: {
      enabled: true,
      delay_before_send_ms: 1,
      delay_after_send_ms: 1,
      rts_on_send: true,
      rx_during_tx: false,
    },
  })
  t.same(line.unsupported, ['rs485', 'low_latency', 'driver_counts', 'modem_lines'])
  t.equal(line.driverCounts(), null)
})

t.test('refuses what the driver does not keep, naming ioctl, errno and values', async (t) => {
  const pty = openPty()
  t.teardown(() => pty.close())
  await t.rejects(opener.open(pty.path, { ...SETTINGS, parity: 'even' }), {
    code: 'line_refused',
    message: `The driver of ${pty.path} did not keep parity: wanted even, TCGETS2 reads back none.`,
    details: { ioctl: 'TCGETS2', errno: 0, field: 'parity', wanted: 'even', got: 'none' },
  })
  await t.rejects(opener.open(pty.path, { ...SETTINGS, stop_bits: 1.5 }), {
    code: 'line_refused',
    message: /1\.5 stop bits exist with 5 data bits only, wanted with 8/,
    details: { ioctl: 'TCSETS2', errno: 22 },
  })
})

t.test('says which process has a busy line', async (t) => {
  const { pty } = await bench(t)
  await t.rejects(opener.open(pty.path, SETTINGS), { code: 'line_busy', details: { pid: process.pid } })
})

t.test('says that a line is absent', async (t) => {
  const pty = openPty()
  await pty.close()
  for (const path of ['/dev/ttyUSB987', '/dev/serial/by-id/usb-none', pty.path])
    await t.rejects(opener.open(path, SETTINGS), { code: 'line_absent' }, path)
})

t.test('leaves no descriptor behind in 1000 openings, with the device lost in every tenth', async (t) => {
  let pty = openPty()
  const held = () => readdirSync('/proc/self/fd').length
  await (await opener.open(pty.path, SETTINGS)).close()
  const before = held()
  for (let count = 0; count < 1000; count++) {
    const line = await opener.open(pty.path, SETTINGS)
    line.onBytes(() => undefined)
    if (count % 10 === 0) {
      const gone = new Promise((resolve) => line.onGone(resolve))
      await pty.close()
      await gone
      pty = openPty()
    }
    await line.close()
  }
  t.equal(held(), before)
  await pty.close()
  // If nothing has made /run/lock, as on a machine without an init, there are no locks either (docs/decisions/serial-addon.md).
  t.equal(existsSync(`/run/lock/LCK..pts_${basename(pty.path)}`), false)
})
