import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Answerer, createTimeServer, type TimeServerSettings } from '../../../core/clocks/time-server.ts'
import { ntpQuestion, readNtpAnswer, type TimeSource } from '../../../wire/ntp.ts'

const nonce = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
const question = ntpQuestion(nonce)
const fetched: TimeSource = {
  ...{ leap: 0, stratum: 3, rootDelayS: 0, rootDispersionS: 0, reference: new Uint8Array(4), setAtMs: 0 },
}

function stage(wish: Partial<TimeServerSettings> = {}) {
  const clock = fakeClock()
  const world = {
    ...{ isSynchronized: true, source: fetched as TimeSource | undefined, hasService: true },
    ...{ refusal: undefined as Fault | undefined, answers: [] as string[], opened: 0, closed: 0 },
  }
  let answerer: Answerer | undefined
  const turned: (string | null)[] = []
  const tooMany: string[] = []
  const server = createTimeServer({
    clock,
    ports: {
      async listen(answer) {
        if (world.refusal) throw world.refusal
        world.opened++
        answerer = answer
        return { close: () => void world.closed++ }
      },
      isAnswered: async (own) => (own === undefined ? world.answers.length > 0 : world.answers.includes(own)),
      async routeTo(host) {
        if (host === 'gone') throw new Fault('camera_unreachable', 'There is no way.')
        return { own: '10.0.0.2', far: host }
      },
      isNear: (address) => address.startsWith('10.'),
    },
    service: {
      async facts() {
        if (!world.hasService) throw new Fault('clock_service_missing', 'It is not there.')
        return { zone: 'Etc/UTC', ntp: true, canNtp: true, synchronized: world.isSynchronized }
      },
      source: async () => world.source,
    },
    settings: {
      ...{ isEnabled: true, localStratum: 0, lookMs: 60_000, perAddress: 60, inAll: 1000, addresses: 100, ...wish },
    },
    onTurned: (why) => void turned.push(why),
    onTooMany: (address) => void tooMany.push(address),
  })
  const ask = (from: string) => answerer?.(question, from)
  const stratum = (from = '10.0.0.9') => {
    const bytes = ask(from)
    return bytes && readNtpAnswer(bytes, nonce)?.stratum
  }
  return { ask, clock, server, stratum, tooMany, turned, world }
}

t.test('A.time the time is given while the clock is synchronized, with the stratum that is true', async (t) => {
  const { ask, clock, server, stratum, turned, world } = stage()
  t.match(server.trouble(), /only just started/)
  await server.look()
  t.same([server.trouble(), stratum(), turned], [null, 3, [null]])
  const answer = ask('10.0.0.9')
  t.equal(readNtpAnswer(answer ?? new Uint8Array(), nonce)?.sentMs, clock.epochMs())
  world.source = undefined
  await server.look()
  t.equal(stratum(), 10, 'nobody tells how far the reference clock is')
  t.equal(turned.length, 1)
})

t.test('A.time a clock that is not synchronized is given to nobody, unless a setting says so', async (t) => {
  const { server, stratum, turned, world } = stage()
  await server.look()
  world.isSynchronized = false
  await server.look()
  t.equal(stratum(), undefined)
  t.match(turned, [null, /not synchronized.*local_stratum/])
  t.match(await server.addressFor('10.0.0.9'), { why: /not synchronized/ })
  world.hasService = false
  await server.look()
  t.equal(stratum(), undefined, 'nobody vouches for it')
  const alone = stage({ localStratum: 12 })
  alone.world.isSynchronized = false
  await alone.server.look()
  t.same([alone.server.trouble(), alone.stratum()], [null, 12])
})

t.test('only networks that this machine is in are answered, and their cameras sent to it', async (t) => {
  const { server, stratum } = stage()
  await server.look()
  t.same([stratum('10.9.9.9'), stratum('192.0.2.9')], [3, undefined])
  t.same(await server.addressFor('10.0.0.9'), { address: '10.0.0.2' })
  t.match(await server.addressFor('192.0.2.9'), { why: /192.0.2.9 is behind a router/ })
  await t.rejects(server.addressFor('gone'), { code: 'camera_unreachable' })
})

t.test('questions are bounded for each address and in all, told once a minute, and counted', async (t) => {
  const { clock, server, stratum, tooMany } = stage({ perAddress: 2, inAll: 5 })
  await server.look()
  t.same([stratum(), stratum(), stratum()], [3, 3, undefined])
  t.same([stratum('10.0.0.1'), stratum('10.0.0.2'), stratum('10.0.0.3'), stratum('10.0.0.4')], [3, 3, 3, undefined])
  t.same(tooMany, ['10.0.0.9'])
  clock.advance(60_000)
  t.equal(stratum(), 3)
  t.same(server.counts(), { answered: 6, leftOut: 2 })
})

t.test('as many addresses are remembered as a setting says, however many ask', async (t) => {
  const { server, stratum } = stage({ addresses: 50, inAll: 1_000_000 })
  await server.look()
  const answered = Array.from({ length: 20_000 }, (_, at) => stratum(`10.${at >> 8}.${at & 255}.1`)).filter(Boolean)
  t.equal(answered.length, 50)
  t.equal(stratum('10.0.0.1'), 3, 'those that asked before go on')
})

t.test(
  'A.time another program on the port counts if it gives the time, and the port is taken once it is free',
  async (t) => {
    const { server, stratum, turned, world } = stage()
    world.refusal = new Fault('time_port_taken', 'Another program has it.')
    await server.look()
    t.equal(server.trouble(), 'Another program has it.')
    world.answers = ['10.0.0.2']
    world.isSynchronized = false
    await server.look()
    t.equal(server.trouble(), null, 'what this machine knows of its clock is of no matter then')
    t.same(await server.addressFor('192.0.2.9'), { address: '10.0.0.2' }, 'whom it answers is its own to say')
    world.answers = ['127.0.0.1']
    t.match(await server.addressFor('10.0.0.9'), { why: /no time at 10.0.0.2/ })
    Object.assign(world, { refusal: undefined, isSynchronized: true })
    await server.look()
    t.equal(stratum(), 3)
    t.same(turned, ['Another program has it.', null])
  },
)

t.test('a port that may not be opened is told, and nobody else is asked there', async (t) => {
  const { server, world } = stage()
  Object.assign(world, { refusal: new Fault('time_port_refused', 'It may not.'), answers: ['127.0.0.1'] })
  await server.look()
  t.equal(server.trouble(), 'It may not.')
})

t.test('switched off it opens nothing; it looks on a schedule, and stops', async (t) => {
  const off = stage({ isEnabled: false })
  off.server.start()
  await off.clock.run(120_000)
  t.same([off.world.opened, off.server.trouble()], [0, 'The recorder serves no time: time_server.enabled is off.'])
  const { clock, server, stratum, world } = stage()
  server.start()
  await clock.run(0)
  t.equal(stratum(), 3)
  world.isSynchronized = false
  await clock.run(60_000)
  t.equal(stratum(), undefined)
  server.stop()
  t.same([world.opened, world.closed, clock.pending()], [1, 1, 0])
})

t.test('a server that is stopped while it looks closes what it opened', async (t) => {
  const { clock, server, turned, world } = stage()
  server.start()
  server.stop()
  await clock.run(0)
  t.same([world.opened, world.closed, turned], [1, 1, []])
  await server.look()
  t.equal(world.opened, 1)
})
