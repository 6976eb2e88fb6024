/** A line that sends on and on is read at ticks; what is asked for, and what comes after a pause, is read at once. */

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bench, heardBy, pattern, until } from './passing-rig.ts'

/** No tick comes by itself within a test. */
const AN_HOUR_MS = 3_600_000

/** Short reads without a pause that make a stream. */
const STREAM = 16

type Bench = Awaited<ReturnType<typeof bench>>

/** Sends single bytes, each once the one before was read. @returns what the client has heard */
async function stream({ join, pty }: Bench, count: number) {
  const { client } = await join()
  const heard = heardBy(client)
  for (let sent = 1; sent <= count; sent++) {
    await pty.write(Buffer.of(sent))
    await until(() => heard.length === sent)
  }
  return { client, heard }
}

t.test('a line that sends on and on is read at the tick, and nothing of it is lost', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  const { heard } = await stream(one, STREAM)
  await one.pty.write(Buffer.from('later'))
  await sleep(30)
  t.equal(heard.length, STREAM, 'it waits in the driver')
  one.channel.readEvery(0)
  await until(() => heard.length === STREAM + 5)
  t.equal(String(heard.bytes().subarray(STREAM)), 'later')
})

t.test('ticks come by themselves, and end with the stream', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(3)
  const { heard } = await stream(one, 10 * STREAM)
  await sleep(20)
  await one.pty.write(Buffer.from('after a pause'))
  await until(() => heard.length === 10 * STREAM + 13)
  t.equal(String(heard.bytes().subarray(10 * STREAM)), 'after a pause')
})

t.test('short answers that follow questions without a pause are read at once', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  const { client } = await one.join()
  const [atLine, atClient] = [heardBy(one.pty), heardBy(client)]
  for (let round = 1; round <= 10 * STREAM; round++) {
    client.write('?')
    await until(() => atLine.length === round)
    await one.pty.write(Buffer.from('!'))
    await until(() => atClient.length === round)
  }
  t.equal(atClient.length, 10 * STREAM)
})

t.test('so are those to what is written from here', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  const heard = heardBy((await one.join()).client)
  for (let round = 1; round <= 2 * STREAM; round++) {
    await one.channel.write(Buffer.from('?'))
    await one.pty.write(Buffer.from('!'))
    await until(() => heard.length === round)
  }
  t.equal(heard.length, 2 * STREAM)
})

t.test('long reads are no stream: the driver has no room for what would wait', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  const heard = heardBy((await one.join()).client)
  const bytes = pattern(200_000)
  await one.pty.write(bytes)
  await until(() => heard.length === bytes.length)
  t.ok(heard.bytes().equals(bytes))
})

t.test('a line that is paused in a stream is read on when it goes on', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(3)
  const { heard } = await stream(one, STREAM)
  one.channel.pause()
  await one.pty.write(Buffer.from('paused'))
  await sleep(20)
  t.equal(heard.length, STREAM)
  one.channel.resume()
  await until(() => heard.length === STREAM + 6)
  t.equal(String(heard.bytes().subarray(STREAM)), 'paused')
})

t.test('a line that hangs up in a stream is lost at once, and closes', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  const lost = new Promise<string>((resolve) => one.channel.onLost(({ code }) => resolve(code)))
  await stream(one, STREAM)
  await one.pty.close()
  t.match(await lost, /HANGUP|EIO/)
  await t.resolves(one.channel.close())
})

t.test('without clients a stream is read at the tick too, and a closed line has none', async (t) => {
  const one = await bench(t)
  one.channel.readEvery(AN_HOUR_MS)
  for (let sent = 1; sent <= STREAM; sent++) {
    await one.pty.write(Buffer.of(sent))
    await until(() => one.told.length === sent)
  }
  await one.pty.write(Buffer.of(0))
  await sleep(30)
  t.equal(one.told.length, STREAM)
  one.channel.readEvery(0)
  await until(() => one.told.length === STREAM + 1)
  await one.channel.close()
  t.doesNotThrow(() => one.channel.readEvery(3))
})
