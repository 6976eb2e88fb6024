/**
 * An answer that is expected goes to a socket, and a question that is admitted to the line, before JavaScript sees either;
 * all else is only read.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openPty, PlantroomBinding } from '../index.ts'
import { descriptorOf, heardBy, turnsUntil, until } from './passing-rig.ts'

/** Unit 17 answers a read of one register with 42. */
const answer = Buffer.from('110302002af858', 'hex')
const head = Buffer.from('123400000005', 'hex')
const begins = answer.subarray(0, 3)
const relayed = Buffer.concat([head, answer.subarray(0, -2)])

/** A line on a pty, a socket that answers are relayed to, and what happens in order. */
async function bench(t: Test) {
  const pty = openPty()
  const { channel } = await PlantroomBinding.open({ path: pty.path, baudRate: 115_200 })
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [own] = (await once(server, 'connection')) as [Socket]
  for (const socket of [client, own]) socket.on('error', () => undefined)
  t.teardown(async () => {
    for (const socket of [client, own]) socket.destroy()
    server.close()
    await channel.close()
    await pty.close()
  })
  const seen: string[] = []
  channel.listen((bytes) => void seen.push(`read ${bytes.toString('hex')}`))
  const relay = channel.relays.join(descriptorOf(own))
  const expect = () =>
    relay.expect({ begins, head, length: answer.length, onSent: (taken) => void seen.push(`relayed ${taken}`) })
  return { channel, client, expect, heard: heardBy(client), own, pty, relay, seen }
}

const readOf = (bytes: Buffer) => `read ${bytes.toString('hex')}`

t.test('the expected answer goes to the socket behind its head and without its checksum, and is read', async (t) => {
  const { expect, heard, pty, seen } = await bench(t)
  expect()
  await pty.write(answer)
  await until(() => heard.length === relayed.length && seen.length === 2)
  t.same(heard.bytes(), relayed)
  t.same(seen, [`relayed ${relayed.length}`, readOf(answer)])
})

t.test('only the next answer is: what comes after it is read', async (t) => {
  const { expect, heard, pty, seen } = await bench(t)
  expect()
  await pty.write(answer)
  await until(() => seen.length === 2)
  await pty.write(answer)
  await until(() => seen.length === 3)
  t.equal(heard.length, relayed.length)
})

t.test('a frame that differs in one bit, or has more or fewer bytes, is only read, and ends it', async (t) => {
  const { expect, heard, pty, seen } = await bench(t)
  const others = Array.from({ length: answer.length * 8 }, (_, bit) => {
    const other = Buffer.from(answer)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return other
  })
  others.push(answer.subarray(0, -1), Buffer.concat([answer, Buffer.of(0)]), Buffer.concat([Buffer.of(0), answer]))
  for (const other of others) {
    expect()
    for (const bytes of [other, answer]) {
      seen.length = 0
      await pty.write(bytes)
      await until(() => seen.length === 1)
      t.same(seen, [readOf(bytes)])
    }
  }
  t.equal(heard.length, 0)
})

t.test('a write ends it, and so does asking for nothing, and a socket that left', async (t) => {
  const { channel, expect, heard, pty, relay, seen } = await bench(t)
  for (const end of [
    () => channel.writeAtOnce(Buffer.from('ask')),
    () => channel.silence.sendAfter(0, Buffer.from('ask'), { run() {}, onSent() {} }),
    () => channel.relays.end(),
    () => relay.leave(),
  ]) {
    expect()
    end()
    seen.length = 0
    await pty.write(answer)
    await until(() => seen.length === 1)
    t.same(seen, [readOf(answer)])
  }
  t.equal(heard.length, 0)
})

t.test('where the socket takes nothing the answer is only read', async (t) => {
  const { expect, own, pty, seen } = await bench(t)
  await new Promise<void>((resolve) => own.end(resolve))
  expect()
  await pty.write(answer)
  await until(() => seen.length === 1)
  t.same(seen, [readOf(answer)])
})

/** The same line, with a socket that the line reads. */
async function reading(t: Test) {
  const on = await bench(t)
  const { relay, seen } = on
  relay.read({
    onBytes: (bytes, sent) => void seen.push(`asked ${bytes.toString('hex')}, sent ${sent}`),
    onEnded: () => void seen.push('ended'),
  })
  return { ...on, far: heardBy(on.pty) }
}

/** Message 1 asks unit 17 for one register at 0; the rest is what follows unit and function. */
const ask = (data = '00000001', fc = '03', unit = '11') => Buffer.from(`000100000006${unit}${fc}${data}`, 'hex')

t.test('a read that is admitted goes to the line with its checksum, and once only', async (t) => {
  const { client, far, relay, seen } = await reading(t)
  relay.admit(0x11, 0)
  client.write(ask())
  await until(() => seen.length === 1 && far.length === 8)
  t.equal(far.bytes().toString('hex'), '110300000001869a')
  client.write(ask())
  await until(() => seen.length === 2)
  t.same(seen, [`asked ${ask().toString('hex')}, sent 8`, `asked ${ask().toString('hex')}, sent 0`])
  t.equal(far.length, 8)
})

t.test('what is no whole read of that unit, or comes too soon, is left to JavaScript', async (t) => {
  const { channel, client, far, relay, seen } = await reading(t)
  const admit = () => relay.admit(0x11, 0)
  const refused: [Buffer, () => void][] = [
    [ask('00000001', '03', '12'), admit],
    [ask('00000001', '05'), admit],
    [ask('00000001', '06'), admit],
    [ask('00000000'), admit],
    [ask('0000007e'), admit],
    [ask('000007d1', '01'), admit],
    [ask('ffff0002'), admit],
    [ask().subarray(0, 11), admit],
    [Buffer.concat([ask(), ask()]), admit],
    [Buffer.from('000100010006110300000001', 'hex'), admit],
    [ask(), () => relay.admit(0x11, performance.timeOrigin + 1e9)],
    [
      ask(),
      () => {
        admit()
        channel.relays.end()
      },
    ],
  ]
  for (const [bytes, how] of refused) {
    seen.length = 0
    how()
    client.write(bytes)
    await until(() => seen.length === 1)
    t.same(seen, [`asked ${bytes.toString('hex')}, sent 0`])
  }
  t.equal(far.length, 0)
  for (const bytes of [ask('0000007d', '04'), ask('000007d0', '02'), ask('ffff0001')]) {
    admit()
    client.write(bytes)
    await until(() => seen.at(-1) === `asked ${bytes.toString('hex')}, sent 8`)
  }
  await until(() => far.length === 24)
})

t.test('a byte of the line that nobody has read, or has just read, keeps a question back', async (t) => {
  const { channel, client, far, pty, relay, seen } = await reading(t)
  relay.admit(0x11, 0)
  await pty.write(Buffer.of(0xff))
  await until(() => seen.length === 1)
  client.write(ask())
  await until(() => seen.length === 2)
  // Nothing is read meanwhile, as in a process that stalls.
  channel.pause()
  await pty.write(Buffer.of(0xff))
  await until(() => channel.native.sendIfQuiet(Buffer.of(1)) === -1)
  relay.admit(0x11, 0)
  client.write(ask())
  await until(() => seen.length === 3)
  t.same(seen.slice(1), Array(2).fill(`asked ${ask().toString('hex')}, sent 0`))
  t.equal(far.bytes().filter((byte) => byte === 0x11).length, 0)
})

t.test('a socket that is paused is not read, and its end is told once it is resumed', async (t) => {
  const { client, relay, seen } = await reading(t)
  relay.pause()
  client.end(ask())
  await once(client, 'finish')
  t.same(seen, [])
  relay.resume()
  await until(() => seen.length === 2)
  t.same(seen, [`asked ${ask().toString('hex')}, sent 0`, 'ended'])
})

t.test('bytes sent before a client reset its connection are reported, and then its end', async (t) => {
  const { client, relay, seen } = await reading(t)
  client.write(ask())
  client.resetAndDestroy()
  await until(() => seen.at(-1) === 'ended')
  t.same(seen, [`asked ${ask().toString('hex')}, sent 0`, 'ended'])
  seen.length = 0
  relay.resume()
  await sleep(50)
  t.same(seen, [], 'the end is reported once')
})

t.test('after quick answers of the line the loop sleeps again by itself', async (t) => {
  const { expect, heard, pty, relay } = await reading(t)
  for (let count = 1; count <= 20; count++) {
    expect()
    await pty.write(answer)
    await until(() => heard.length === count * relayed.length)
  }
  expect()
  relay.admit(0x11, 0)
  t.ok((await turnsUntil(sleep(200))) < 2000)
})

t.test('the loop sleeps while a line that answers late is waited for', async (t) => {
  const { client, expect, heard, pty, relay, seen } = await reading(t)
  for (let count = 1; count <= 3; count++) {
    expect()
    await sleep(5)
    await pty.write(answer)
    await until(() => heard.length === count * relayed.length)
  }
  relay.admit(0x11, 0)
  client.write(ask())
  await until(() => seen.at(-1) === `asked ${ask().toString('hex')}, sent 8`)
  expect()
  t.ok((await turnsUntil(sleep(200))) < 50)
})

t.test('a client whose socket is closed is told of its end, although the line has a copy of it', async (t) => {
  const { client, own, relay } = await bench(t)
  const ended = once(client, 'close')
  own.destroy()
  relay.leave()
  await ended
})

t.test('a closed line relays nothing, and leaving it then has no effect', async (t) => {
  const { channel, expect, relay } = await bench(t)
  await channel.close()
  expect()
  relay.leave()
  t.throws(() => channel.relays.join(0), { code: 'ECANCELED' })
})
