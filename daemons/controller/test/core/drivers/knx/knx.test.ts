/** The driver behind the host, with Debian's knxd as the interface to a bus, and with interfaces that misbehave. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { createKnxDriver } from '../../../../core/drivers/knx/knx.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { startKnxBus } from '../../../knx-bus.ts'
import { toyStage } from '../toy-stage.ts'

function stage(t: Test, port: number, zone: Readonly<Record<string, Json>>, config: Json = {}) {
  return toyStage(t, {
    driver: createKnxDriver(),
    transport: { kind: 'knx', host: '127.0.0.1', port },
    ...{ device: { config }, zone },
  })
}

t.test('knxd: values are written to the bus, heard on it, and asked for', async (t) => {
  const bus = await startKnxBus(t)
  const address = 'on=1/1/1 level=1/1/2<1/4/2 position=1/1/3 setpoint=1/1/4 power=1/1/5'
  const { command, reading, live } = stage(t, bus.port, { address }, { dpt: { '1/1/5': '14.056' } })
  await until('it is online', () => live.device(1).state === 'online')
  await until('all are asked for once', () => /1\/4\/2.*1\/1\/5/s.test(bus.heard()))
  await command('on')
  await command('level', { level: 50 })
  await command('open')
  await command('setpoint', { setpoint: 21.5 })
  await command('power', { power: 1.5 })
  await until('all are on the bus', () => bus.heard().includes('3f c0 00 00') || bus.heard().includes('3F C0 00 00'))
  const said = bus.heard().toLowerCase()
  for (const line of [/1\/1\/1: 01/, /1\/1\/2: 80/, /1\/1\/3: 00/, /1\/1\/4: 0c 33/, /1\/1\/5: 3f c0 00 00/])
    t.match(said, line)
  await bus.respond('1/1/1', '0')
  await bus.write('1/4/2', 'FF')
  await bus.write('1/1/3', '33')
  await bus.write('1/1/4', '0C', '33')
  await bus.write('1/1/2', '11')
  await until('all are heard', () => reading().setpoint === 21.5 && reading().level === 100)
  t.match(live.zone(1), { on: false, position: 80 }, 'what is written to a level is not its state')
  await command('toggle')
  await until('it is on', () => /1\/1\/1: 01.*1\/1\/1: 01/s.test(bus.heard()))
  await t.rejects(command('level', { level: 101 }), { message: /type 5\.001 holds: 0 to 100/ })
  await t.rejects(command('dance'), { message: /there is no dance in the address of the zone, it has on, level/ })
})

t.test('knxd: an interface that goes away is lost, and found when it is back', async (t) => {
  const bus = await startKnxBus(t)
  const { live, command } = stage(t, bus.port, { address: '1/1/1' })
  await until('it is online', () => live.device(1).state === 'online')
  bus.stop()
  await until(
    'a command finds it gone',
    async () => {
      await command('on').catch(() => {})
      return live.device(1).state === 'offline'
    },
    20_000,
  )
  t.match(live.device(1).error, /refuses connections|did not acknowledge|ended the tunnel/)
  bus.start()
  await until('it is back', () => live.device(1).state === 'online', 20_000)
  await command('on')
})

/** An interface that the test plays. @param obey its reaction to each message, by its service */
async function fakeInterface(t: Test, obey: (service: number, bytes: Buffer, say: (hex: string) => void) => void) {
  const socket = createSocket('udp4')
  const seen: number[] = []
  let peer: RemoteInfo | undefined
  const say = (text: string) => {
    const bytes = Buffer.from(text.replaceAll(' ', ''), 'hex')
    if (bytes.length > 6) bytes.writeUInt16BE(bytes.length, 4)
    if (peer) socket.send(bytes, peer.port, peer.address)
  }
  socket.on('message', (bytes, from) => {
    peer = from
    const service = bytes.readUInt16BE(2)
    seen.push(service)
    obey(service, bytes, say)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return { port: socket.address().port, seen, say }
}

const CONNECTED = '0610 0206 0000 15 00 0801000000000000 04041102'
const byte = (value: number | undefined) => (value ?? 0).toString(16).padStart(2, '0')
const ack = (bytes: Buffer) => `0610 0421 0000 04 15 ${byte(bytes[8])} 00`

function obeyAll(service: number, bytes: Buffer, say: (hex: string) => void): void {
  if (service === 0x0205) say(CONNECTED)
  if (service !== 0x0420) return
  say(ack(bytes))
  // The confirmation: its own count is that of the request, as both begin at 0.
  say(`0610 0420 0000 04 15 ${byte(bytes[8])} 00 2e ${bytes.subarray(11).toString('hex')}`)
}

t.test('the tunnel is ended at the interface, which has only a few', async (t) => {
  const face = await fakeInterface(t, obeyAll)
  const { live, host, command } = stage(t, face.port, { address: '1/1/1' })
  await until('it is online', () => live.device(1).state === 'online')
  await command('on')
  await host.close()
  await until('it is told', () => face.seen.includes(0x0209))
})

t.test('a telegram that is not acknowledged is sent once more, and one that came twice is taken once', async (t) => {
  let lost = 0
  const face = await fakeInterface(t, (service, bytes, say) => {
    if (service === 0x0420 && lost++ === 0) return
    obeyAll(service, bytes, say)
  })
  const { live, reading, said } = stage(t, face.port, { address: '1/1/1' })
  await until('the question is sent twice', () => face.seen.filter((one) => one === 0x0420).length === 2)
  t.equal(live.device(1).state, 'online')
  const on = (sequence: string, value: string) =>
    face.say(`0610 0420 0000 04 15 ${sequence} 00 29 00 bce0 1105 0901 01 00 ${value}`)
  on('01', '81')
  await until('it is on', () => reading().on === true)
  on('01', '80')
  on('07', '80')
  face.say('0610 0420 0000 04 16 02 00 29 00 bce0 1105 0901 01 00 80')
  face.say('00')
  on('02', '81')
  await until('all are acknowledged that are', () => face.seen.filter((one) => one === 0x0421).length === 4)
  t.equal(reading().on, true, 'neither the repeated one, nor one out of order, nor one of another tunnel')
  t.match(said.join(), /sent a message that its driver does not know/)
})

const endings: [string, (face: Awaited<ReturnType<typeof fakeInterface>>) => void, RegExp][] = [
  [
    'ends the tunnel',
    (face) => face.say('0610 0209 0000 15 00 0801000000000000'),
    /the interface has ended the tunnel/,
  ],
  [
    'counts on after telegrams that got lost',
    (face) => {
      for (const sequence of ['07', '08']) face.say(`0610 0420 0000 04 15 ${sequence} 00 29 00 bce0 1105 0901 01 00 81`)
    },
    /telegrams of the interface were lost on the way/,
  ],
]
for (const [title, end, reason] of endings)
  t.test(`an interface that ${title} is lost and asked anew`, async (t) => {
    const face = await fakeInterface(t, obeyAll)
    const { live } = stage(t, face.port, { address: '1/1/1' })
    const errors: (string | null)[] = []
    live.onChange((kind) => void (kind === 'device' && errors.push(live.device(1).error)))
    await until('it is online', () => live.device(1).state === 'online')
    end(face)
    await until('it was lost', () => errors.some((error) => reason.test(error ?? '')))
    await until('it is back', () => live.device(1).state === 'online')
  })

const refusals: [string, string, RegExp][] = [
  ['all tunnels are taken', '0610 0206 0000 00 24', /no tunnel: all its tunnels are taken/],
  ['another port', '0610 0206 0000 15 00 0801c0a8010a0e58 04041102', /wants telegrams at port 3672/],
]
for (const [title, answer, reason] of refusals)
  t.test(`${title}: it is said`, async (t) => {
    const face = await fakeInterface(t, (service, _bytes, say) => void (service === 0x0205 && say(answer)))
    const { live } = stage(t, face.port, { address: '1/1/1' })
    await until('it is said', () => reason.test(live.device(1).error ?? ''))
  })

t.test('a telegram that nothing on the bus takes is a failure', async (t) => {
  const face = await fakeInterface(t, (service, bytes, say) => {
    if (service !== 0x0420) return obeyAll(service, bytes, say)
    say(ack(bytes))
    say(`0610 0420 0000 04 15 ${byte(bytes[8])} 00 2e 00 bd ${bytes.subarray(13).toString('hex')}`)
  })
  const { live, command } = stage(t, face.port, { address: '1/1/1' })
  await until('it is online', () => live.device(1).state === 'online')
  await t.rejects(command('on'), { message: /nothing on the bus has taken the telegram/ })
  t.equal(live.device(1).state, 'online')
})

t.test('rows are checked: types, and the address of a zone', async (t) => {
  const { flaw, zoneFlaw } = createKnxDriver()
  const row = (columns: object) => ({ id: 1, ...columns }) as unknown as Row
  const transport = { kind: 'knx', host: 'a' }
  t.equal(flaw?.(row({ transport, config: { dpt: { '1/2/3': '9.001' } } })), undefined)
  t.match(flaw?.(row({ transport, config: { dpt: { x: '9.001' } } })), /config\.dpt\.x is not for a group address/)
  t.match(
    flaw?.(row({ transport, config: { dpt: { '1/2/3': '16.000' } } })),
    /not a datapoint type that is known: 1, 5/,
  )
  const of = (address: string, more = {}) => zoneFlaw?.(row({ address, ...more }), row({ transport }))
  t.equal(of('1/2/3'), undefined)
  t.equal(of('1/2/3', { type: 'dimmer' }), undefined)
  t.match(of('on=1/2/3:x'), /expected FIELD=1\/2\/3<1\/2\/4:DPT/)
  t.match(of('power=1/2/3'), /has no datapoint type for power: write 1\/2\/3:9\.001/)
  t.match(of('1/2/3 1/2/4'), /two values for one field/)
  t.match(of(''), /expected FIELD/)
})
