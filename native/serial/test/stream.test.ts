/** Bytes through serialport's stream and parsers over the binding, on ptys. */
import { SerialPortStream } from '@serialport/stream'
import { DelimiterParser } from 'serialport'
import t, { type Test } from 'tap'
import { openPty, PlantroomBinding, type Pty } from '../index.ts'

type Stream = SerialPortStream<typeof PlantroomBinding>

async function bench(t: Test): Promise<{ pty: Pty; stream: Stream }> {
  const pty = openPty()
  const stream = new SerialPortStream({ binding: PlantroomBinding, path: pty.path, baudRate: 9600, autoOpen: false })
  await new Promise<void>((resolve, reject) => stream.open((error) => (error ? reject(error) : resolve())))
  t.teardown(async () => {
    await stream.port?.close()
    await pty.close()
  })
  return { pty, stream }
}

/** Bytes that tell their own place. */
function pattern(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7) >> 3))
}

/** Collects until that many bytes are there. */
function collect(onBytes: (handler: (bytes: Buffer) => void) => void, length: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let have = 0
    onBytes((bytes) => {
      pieces.push(bytes)
      have += bytes.length
      if (have >= length) resolve(Buffer.concat(pieces))
    })
  })
}

t.test('works under the parsers of serialport unchanged', async (t) => {
  const { pty, stream } = await bench(t)
  const parser = stream.pipe(new DelimiterParser({ delimiter: '\n' }))
  const lines = new Promise<string[]>((resolve) => {
    const seen: string[] = []
    parser.on('data', (line: Buffer) => {
      if (seen.push(line.toString()) === 3) resolve(seen)
    })
  })
  for (const byte of Buffer.from('one\ntwo\nthree\n')) await pty.write(Buffer.from([byte]))
  t.same(await lines, ['one', 'two', 'three'])
})

t.test('carries every byte value, both ways', async (t) => {
  const { pty, stream } = await bench(t)
  const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
  const there = collect((handler) => pty.onBytes(handler), 256)
  stream.write(all)
  t.same(await there, all)
  const back = collect((handler) => stream.on('data', handler), 256)
  await pty.write(all)
  t.same(await back, all)
})

t.test('keeps a megabyte whole and in order, in many writes', async (t) => {
  const { pty, stream } = await bench(t)
  const bytes = pattern(1_000_000)
  const there = collect((handler) => pty.onBytes(handler), bytes.length)
  for (let at = 0; at < bytes.length; at += 7001) stream.write(bytes.subarray(at, at + 7001))
  t.ok((await there).equals(bytes))
})

t.test('reads a megabyte whole while its reader stops and goes', async (t) => {
  const { pty, stream } = await bench(t)
  const bytes = pattern(1_000_000)
  const there = collect((handler) => {
    stream.on('data', (piece: Buffer) => {
      handler(piece)
      stream.pause()
      setImmediate(() => stream.resume())
    })
  }, bytes.length)
  await pty.write(bytes)
  t.ok((await there).equals(bytes))
})

t.test('holds back a writer while the far end does not read', async (t) => {
  const { pty, stream } = await bench(t)
  const bytes = pattern(300_000)
  let isTaken = false
  const taken = new Promise<void>((resolve) => {
    stream.write(bytes, undefined, () => {
      isTaken = true
      resolve()
    })
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isTaken, 'a pty holds some kilobytes')
  const there = collect((handler) => pty.onBytes(handler), bytes.length)
  await taken
  t.ok((await there).equals(bytes))
})

t.test('stamps each read with the monotonic clock', async (t) => {
  const { pty, stream } = await bench(t)
  const before = process.hrtime.bigint() / 1000n
  const got = new Promise<number>((resolve) => {
    stream.once('data', () => resolve(stream.port?.lastReadAtUs ?? 0))
  })
  await pty.write(Buffer.from('x'))
  const atUs = await got
  t.ok(atUs >= Number(before) && atUs <= Number(process.hrtime.bigint() / 1000n))
})

t.test('throws away what waits to be sent when flushed', async (t) => {
  const { pty, stream } = await bench(t)
  const taken = new Promise<void>((resolve) => stream.write(pattern(300_000), undefined, () => resolve()))
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => stream.flush(resolve))
  await taken
  const there = collect((handler) => pty.onBytes(handler), 1)
  stream.write('!')
  const seen = await there
  t.ok(seen.length < 300_000, 'the tail is gone')
})

t.test('tells a disconnect when the far end closes', async (t) => {
  const { pty, stream } = await bench(t)
  stream.resume()
  const closed = new Promise<unknown>((resolve) => stream.once('close', resolve))
  await pty.close()
  t.match(await closed, { disconnected: true })
})
