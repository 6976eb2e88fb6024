/** Bytes that pass between a line and sockets within the addon, and what is told of them. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import {
  bench,
  bytesOf,
  descriptorOf,
  heardBy,
  type Member,
  pattern,
  type Told,
  turnsUntil,
  until,
} from './passing-rig.ts'

t.test('bytes are at the far end before they are told, and are told with the stamp of their read', async (t) => {
  const { channel, join, pty, told } = await bench(t, { tellMs: 10_000 })
  const { client } = await join()
  const [atLine, atClient] = [heardBy(pty), heardBy(client)]
  const beforeUs = Number(process.hrtime.bigint() / 1000n)
  client.write('ask')
  await until(() => atLine.length === 3)
  await pty.write(Buffer.from('told'))
  await until(() => atClient.length === 4)
  const afterUs = Number(process.hrtime.bigint() / 1000n)
  t.equal(told.length, 0, 'nothing is told within the time')
  await sleep(20)
  channel.tellPassed()
  t.match(told, [
    { kind: 'socket', bytes: Buffer.from('ask'), taken: 3 },
    { kind: 'line', bytes: Buffer.from('told') },
  ])
  const [first = Number.NaN, second = Number.NaN] = told.map((note) => note.atUs)
  t.ok(beforeUs <= first && first <= second && second <= afterUs, `${beforeUs} ${first} ${second} ${afterUs}`)
})

t.test('what passed is told by itself within its time', async (t) => {
  const { join, told } = await bench(t, { tellMs: 10 })
  const { client } = await join()
  client.write('x')
  await until(() => told.length > 0)
  t.match(told, [{ kind: 'socket', taken: 1 }])
})

t.test('after quick answers in both directions the loop sleeps again by itself', async (t) => {
  const { join, pty } = await bench(t)
  const { client } = await join()
  let count = 0
  pty.onBytes((bytes) => void pty.write(bytes))
  client.on('data', (bytes: Buffer) => {
    count++
    if (count < 200) client.write(bytes)
  })
  client.write('x')
  await until(() => count === 200)
  t.ok((await turnsUntil(sleep(200))) < 2000)
})

/** Sends a byte each tenth of a millisecond or so, from a thread of its own, and posts how many there were. */
const SENDER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const never = new Int32Array(new SharedArrayBuffer(4))
  let count = 0
  for (const endMs = performance.now() + 300; performance.now() < endMs; count++) {
    require('node:fs').writeSync(workerData, 'x')
    Atomics.wait(never, 0, 0, 0.05)
  }
  parentPort.postMessage(count)`

t.test('a client that only sends, byte after byte, does not keep the loop awake', async (t) => {
  const { join, pty } = await bench(t)
  const { client } = await join()
  const far = heardBy(pty)
  const sender = new Worker(SENDER, { eval: true, workerData: descriptorOf(client) })
  await once(sender, 'online')
  const sent = once(sender, 'message')
  const turned = await turnsUntil(sent)
  const [count] = await sent
  await until(() => far.length === count)
  t.ok(count > 100 && turned < 8 * count, `${turned} turns for ${count} bytes`)
})

t.test('the loop sleeps between bytes that come now and then', async (t) => {
  const { join, pty } = await bench(t)
  const heard = heardBy((await join()).client)
  for (let count = 1; count <= 12; count++) {
    await pty.write(Buffer.of(count))
    await until(() => heard.length === count)
    await sleep(2)
  }
  t.ok((await turnsUntil(sleep(200))) < 50)
})

t.test('what the line sends goes to every socket, and is told once', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const members = [await join(), await join(), await join()]
  const heard = members.map(({ client }) => heardBy(client))
  await pty.write(pattern(200))
  await until(() => heard.every((one) => one.length === 200))
  for (const one of heard) t.same(one.bytes(), pattern(200))
  channel.tellPassed()
  t.same(bytesOf(told, 'line'), pattern(200))
})

t.test('reads of one line keep a stamp each, however they are told', async (t) => {
  const { channel, join, pty, told } = await bench(t, { tellMs: 10_000 })
  const heard = heardBy((await join()).client)
  for (let piece = 1; piece <= 3; piece++) {
    await pty.write(Buffer.of(piece))
    await until(() => heard.length === piece)
    await sleep(10)
  }
  channel.tellPassed()
  t.same(
    told.map((note) => [...note.bytes]),
    [[1], [2], [3]],
  )
  const [first = 0, second = 0, third = 0] = told.map((note) => note.atUs)
  t.ok(second - first >= 9000 && third - second >= 9000, `${first} ${second} ${third}`)
})

t.test('what a line does not take is left to the handler, and nothing of a socket overtakes it', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const writes: Promise<void>[] = []
  // As a handler must: the rest is written before it returns, and holds what comes after.
  const { client } = await join((rest) => {
    channel.holdSockets()
    writes.push(channel.write(rest).finally(() => channel.releaseSockets()))
  })
  const bytes = pattern(400_000)
  client.write(bytes)
  // Until the far end reads, a pty holds some kilobytes.
  await until(() => writes.length > 0)
  const heard = heardBy(pty)
  await until(() => heard.length === bytes.length)
  await Promise.all(writes)
  t.ok(heard.bytes().equals(bytes))
  channel.tellPassed()
  t.ok(bytesOf(told, 'socket').equals(bytes), 'and each byte is told once')
})

t.test('while writes from here are not all taken, what a socket sends is left to the handler', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const { client } = await join()
  const heard = heardBy(pty)
  channel.holdSockets()
  client.write('later')
  await until(() => told.length > 0)
  t.match(told, [{ kind: 'socket', bytes: Buffer.from('later'), taken: 0 }])
  await channel.write(Buffer.from('first'))
  channel.releaseSockets()
  client.write('then')
  await until(() => heard.length === 9)
  t.equal(String(heard.bytes()), 'firstthen')
})

t.test('what a socket does not take is told at once and to the byte; it gets nothing more until it may', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const slow = await join()
  const quick = await join()
  const atQuick = heardBy(quick.client)
  slow.client.pause()
  const bytes = pattern(30_000_000)
  let sent = 0
  for (; sent < bytes.length && slow.told.length === 0; sent += 65_536)
    await pty.write(bytes.subarray(sent, sent + 65_536))
  const whole = Math.min(sent, bytes.length)
  await until(() => atQuick.length === whole)
  channel.tellPassed()
  t.equal(slow.told.length, 1, 'once')
  t.match(slow.told, [{ kind: 'behind' }])
  const [behind] = slow.told
  // The rest belongs to the line's bytes told just before; with what came after it makes up what the socket lacks.
  const place = told.indexOf(behind as Told)
  const lacking = Buffer.concat([behind?.bytes ?? Buffer.alloc(0), bytesOf(told.slice(place), 'line')])
  const atSlow = heardBy(slow.client)
  slow.client.resume()
  await until(() => atSlow.length === whole - lacking.length)
  t.ok(Buffer.concat([atSlow.bytes(), lacking]).equals(bytes.subarray(0, whole)))
  slow.passed.goDirect()
  await pty.write(Buffer.from('again'))
  await until(() => String(atSlow.bytes().subarray(-5)) === 'again')
  t.equal(atSlow.length, whole - lacking.length + 5)
})

t.test('a socket that ends has left, and one that is reset says why', async (t) => {
  const { join, pty } = await bench(t)
  const [ends, resets, stays] = [await join(), await join(), await join()]
  ends.client.end('bye')
  await until(() => ends.told.length === 2)
  t.match(ends.told, [
    { kind: 'socket', bytes: Buffer.from('bye') },
    { kind: 'ended', taken: 0 },
  ])
  resets.client.resetAndDestroy()
  await until(() => resets.told.length === 1)
  t.match(resets.told, [{ kind: 'ended', taken: 104 }])
  const heard = heardBy(stays.client)
  await pty.write(Buffer.from('on'))
  await until(() => heard.length === 2)
  t.equal(String(heard.bytes()), 'on')
})

t.test('a socket that left hears nothing more, and may leave again', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const { client, passed } = await join()
  const heard = heardBy(client)
  client.write('x')
  await until(() => told.length > 0)
  passed.leave()
  passed.leave()
  passed.flow('stopped')
  passed.flow('reading')
  passed.goDirect()
  client.write('y')
  await pty.write(Buffer.from('z'))
  await until(() => told.length > 1)
  channel.tellPassed()
  t.match(told, [{ kind: 'socket' }, { kind: 'line', bytes: Buffer.from('z') }])
  t.equal(told.length, 2)
  t.equal(heard.length, 0)
})

t.test('handlers may let sockets go, and close the line, while they are told', async (t) => {
  const { channel, join, pty } = await bench(t)
  const first = await join()
  let closing: Promise<void> | undefined
  channel.listen(() => {
    first.passed.leave()
    closing = channel.close()
  })
  await pty.write(Buffer.from('x'))
  await until(() => closing !== undefined)
  await closing
  t.throws(() => channel.joinSocket(descriptorOf(first.own), 5, first as never), { code: 'ECANCELED' })
})

t.test('a line that is lost has told everything before', async (t) => {
  const { channel, join, pty, told } = await bench(t, { tellMs: 10_000 })
  const { client } = await join()
  const heard = heardBy(client)
  const lost = new Promise((resolve) => channel.onLost(resolve))
  await pty.write(Buffer.from('last words'))
  await until(() => heard.length === 10)
  await pty.close()
  await lost
  t.equal(String(bytesOf(told, 'line')), 'last words')
})

t.test('refuses what is no descriptor, naming call and errno', async (t) => {
  const { channel } = await bench(t)
  t.throws(() => channel.joinSocket(-1, 5, {} as never), { code: 'EBADF', syscall: 'fcntl', errno: 9 })
})

t.test('leaves no descriptor behind in 300 sockets that come and go in every way', async (t) => {
  const { join, pty } = await bench(t)
  pty.onBytes(() => undefined)
  const held = () => readdirSync('/proc/self/fd').length
  const ways: ((member: Member) => void)[] = [
    ({ client }) => client.destroy(),
    ({ client }) => client.resetAndDestroy(),
    ({ passed }) => passed.leave(),
    ({ client }) => client.end('x'),
  ]
  const before = held()
  for (let count = 0; count < 300; count++) {
    const member = await join()
    member.client.write('x')
    ways[count % ways.length]?.(member)
    await pty.write(Buffer.of(count & 0xff))
    if (count % ways.length !== 2) await until(() => member.told.some((note) => note.kind === 'ended'))
    member.own.destroy()
    member.client.destroy()
    await once(member.own, 'close')
  }
  await until(() => held() === before)
  t.equal(held(), before)
})

t.test('a peer that resets with bytes on their way is heard to the last byte, and then let go', async (t) => {
  const { join, pty } = await bench(t)
  const { client, told } = await join()
  const atLine = heardBy(pty)
  client.write('last')
  client.resetAndDestroy()
  await until(() => told.some(({ kind }) => kind === 'ended'))
  await until(() => atLine.length === 4)
  t.equal(String(atLine.bytes()), 'last')
})
