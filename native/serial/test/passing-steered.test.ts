/** Sockets of which not all goes to the line, and Telnet between. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bench, bytesOf, heardBy, until } from './passing-rig.ts'

const ALL = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const doubled = (bytes: Buffer) => Buffer.from([...bytes].flatMap((byte) => (byte === 255 ? [255, 255] : [byte])))

t.test('of a socket that may not write nothing goes to the line, and all is told at once', async (t) => {
  const { join, pty } = await bench(t, { tellMs: 50_000 })
  const member = await join()
  const atLine = heardBy(pty)
  member.passed.steer('none', false)
  member.client.write('quiet')
  await until(() => member.told.length === 1)
  t.match(member.told, [{ kind: 'socket', bytes: Buffer.from('quiet'), taken: 0 }])
  member.passed.steer('all', false)
  member.client.write('loud')
  await until(() => atLine.length === 4)
  t.equal(String(atLine.bytes()), 'loud')
})

t.test('over Telnet data goes to the line up to the first command, a doubled FF as one', async (t) => {
  const { join, pty } = await bench(t, { tellMs: 50_000 })
  const rests: Buffer[] = []
  const member = await join((rest) => rests.push(rest))
  const atLine = heardBy(pty)
  member.passed.steer('untilCommand', true)
  member.client.write(doubled(ALL))
  await until(() => atLine.length === 256)
  t.ok(atLine.bytes().equals(ALL))
  t.equal(member.told.length, 0, 'no command, so nothing is told yet')
  member.client.write(Buffer.from([0x41, 0xff, 0xff, 0x42, 0xff, 0xfd, 0x03, 0x43]))
  await until(() => rests.length === 1)
  t.equal(rests[0]?.toString('hex'), 'fffd0343')
  await until(() => atLine.length === 259)
  t.equal(atLine.bytes().subarray(256).toString('hex'), '41ff42')
  t.equal(member.told.at(-1)?.taken, 4)
})

t.test('an FF at the end of a read is left, for it may begin a command', async (t) => {
  const { join, pty } = await bench(t)
  const rests: Buffer[] = []
  const member = await join((rest) => rests.push(rest))
  const atLine = heardBy(pty)
  member.passed.steer('untilCommand', true)
  member.client.write(Buffer.from([0x41, 0xff]))
  await until(() => rests.length === 1)
  t.equal(rests[0]?.toString('hex'), 'ff')
  await until(() => atLine.length === 1)
  t.equal(atLine.bytes().toString('hex'), '41')
})

t.test('over Telnet each FF of the line goes out twice, and other sockets get it once', async (t) => {
  const { join, pty } = await bench(t)
  const [telnet, raw] = [await join(), await join()]
  telnet.passed.steer('untilCommand', true)
  const [atTelnet, atRaw] = [heardBy(telnet.client), heardBy(raw.client)]
  await pty.write(ALL)
  await until(() => atTelnet.length === 257 && atRaw.length === 256)
  t.ok(atTelnet.bytes().equals(doubled(ALL)))
  t.ok(atRaw.bytes().equals(ALL))
})

t.test('a socket that is behind among doubled FFs is told so to the half of a pair', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const slow = await join()
  slow.passed.steer('untilCommand', true)
  slow.client.pause()
  // Offset by one, so that a full socket may end within a pair.
  const bytes = Buffer.alloc(30_000_001, 255)
  bytes[0] = 1
  let sent = 0
  for (; sent < bytes.length && slow.told.length === 0; sent += 65_536)
    await pty.write(bytes.subarray(sent, sent + 65_536))
  const whole = Math.min(sent, bytes.length)
  await until(
    () => told.filter(({ kind }) => kind === 'line').reduce((sum, one) => sum + one.bytes.length, 0) === whole,
  )
  channel.tellPassed()
  const [behind] = slow.told
  const place = told.indexOf(behind as (typeof told)[number])
  const lacking = Buffer.concat([behind?.bytes ?? Buffer.alloc(0), bytesOf(told.slice(place), 'line')])
  const rest = doubled(lacking).subarray(behind?.isHalf ? 1 : 0)
  const atSlow = heardBy(slow.client)
  slow.client.resume()
  const wanted = doubled(bytes.subarray(0, whole))
  await until(() => atSlow.length === wanted.length - rest.length)
  t.ok(Buffer.concat([atSlow.bytes(), rest]).equals(wanted))
})

t.test('nothing of the line goes to a socket that is taken out, until it goes direct again', async (t) => {
  const { channel, join, pty, told } = await bench(t)
  const member = await join()
  const atClient = heardBy(member.client)
  channel.tellPassed()
  member.passed.goIndirect()
  await pty.write(Buffer.from('one'))
  await until(() => bytesOf(told, 'line').length === 3)
  await sleep(20)
  t.equal(atClient.length, 0)
  member.passed.goDirect()
  await pty.write(Buffer.from('two'))
  await until(() => atClient.length === 3)
  t.equal(String(atClient.bytes()), 'two')
})
