import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type ClockFacts, createOwnClock, type TimeWish } from '../../../core/clocks/own-clock.ts'

const refusal = new Fault('clock_refused', 'It refuses.')

function stage(wish: Partial<ClockFacts> = {}, pinned: string | null = null) {
  const facts = { zone: 'Etc/UTC', ntp: true, canNtp: true, synchronized: false, ...wish }
  const calls: string[] = []
  const told: string[] = []
  const traits = { fault: undefined as Fault | undefined, refuses: '', asked: 0 }
  async function set(what: string, made: Partial<ClockFacts>) {
    if (traits.refuses !== '' && what.startsWith(traits.refuses)) throw refusal
    calls.push(what)
    Object.assign(facts, made)
  }
  const service = {
    async facts() {
      traits.asked++
      if (traits.fault) throw traits.fault
      return { ...facts }
    },
    source: async () => undefined,
    zones: async () => ['Europe/Berlin', 'Etc/UTC'],
    setZone: (zone: string) => set(`zone ${zone}`, { zone }),
    setNtp: (ntp: boolean) => set(`ntp ${ntp}`, { ntp }),
    setTime: (ms: number) => set(`time ${new Date(ms).toISOString()}`, {}),
  }
  const zone = { pinned, name: () => pinned ?? 'Etc/UTC', posix: () => undefined }
  const onChanged = (_of: string, sentence: string) => void told.push(sentence)
  const own = createOwnClock({ clock: fakeClock(), service, zone, timeTrouble: () => 'It is off.', onChanged })
  const each: string[] = []
  const change = (wish: TimeWish) =>
    own.change(wish, async (sentence) => {
      each.push(sentence)
    })
  return { own, change, calls, told, each, traits, facts }
}

t.test('A.time zone, network time and time are set in this order, the time in the new zone', async (t) => {
  const { calls, change, each, told } = stage()
  const answer = await change({ time: '2031-07-09 14:00', ntp: false, zone: 'Europe/Berlin' })
  t.same(calls, ['zone Europe/Berlin', 'ntp false', 'time 2031-07-09T12:00:00.000Z'])
  t.match(answer, { available: true, zone: 'Europe/Berlin', ntp: false, pinnedZone: null })
  t.match(answer, { timeServer: false, timeServerError: 'It is off.' })
  t.same(told, each)
  t.equal(told.length, 3)
})

t.test('A.time what is so already is not set again, nor told', async (t) => {
  const { calls, change, told } = stage()
  await change({ zone: 'Etc/UTC', ntp: true })
  t.same([...calls, ...told], [])
})

t.test('A.time what is refused changes nothing, not even what stands beside it', async (t) => {
  for (const [wish, code, facts] of [
    [{ ntp: false, zone: 'Mars/Base' }, 'bad_zone', {}],
    [{ zone: 'Europe/Berlin', time: '2031-07-09 14:00' }, 'time_from_network', {}],
    [{ zone: 'Europe/Berlin', ntp: true, time: '2031-07-09 14:00' }, 'time_from_network', { ntp: false }],
    [{ zone: 'Europe/Berlin', ntp: true }, 'no_network_time', { canNtp: false }],
    [{ ntp: false, time: '2031-02-31 14:00' }, 'bad_time', {}],
    [{ ntp: false, time: '2031-02-28 24:00' }, 'bad_time', {}],
    [{ ntp: false, time: '1970-01-01 00:00' }, 'bad_time', {}],
  ] as const) {
    const { calls, change } = stage(facts)
    await t.rejects(change(wish), { code })
    t.same(calls, [], code)
  }
})

t.test('A.time a zone that is pinned counts, and no other is set', async (t) => {
  const { calls, change, own } = stage({ ntp: false }, 'Asia/Tokyo')
  t.match(await own.read(), { zone: 'Asia/Tokyo', pinnedZone: 'Asia/Tokyo' })
  t.same(await own.zones(), [])
  await t.rejects(change({ zone: 'Europe/Berlin' }), { code: 'zone_pinned', message: /SVC_TZ/ })
  await change({ zone: 'Asia/Tokyo', time: '2031-01-01 09:00' })
  t.same(calls, ['time 2031-01-01T00:00:00.000Z'])
})

t.test('A.time what was done before a refusal is told', async (t) => {
  const { change, each, told, traits } = stage()
  traits.refuses = 'ntp'
  await t.rejects(change({ zone: 'Europe/Berlin', ntp: false, time: '2031-01-01 09:00' }), refusal)
  t.same([told, each], [['The time zone was set to Europe/Berlin.'], ['The time zone was set to Europe/Berlin.']])
})

t.test('A.time without a clock service it says so, and knows the rest', async (t) => {
  const { change, own, traits } = stage()
  traits.fault = new Fault('clock_service_missing', 'It is not there.')
  t.match(await own.read(), { available: false, error: 'It is not there.', zone: 'Etc/UTC', ntp: null, canNtp: false })
  await t.rejects(change({ ntp: false }), traits.fault)
})

t.test('who asks at the same time shares an answer, and one sets it at a time', async (t) => {
  const { change, own, traits } = stage()
  await Promise.all(Array.from({ length: 100 }, () => own.read()))
  t.equal(traits.asked, 1)
  await own.read()
  t.equal(traits.asked, 2)
  const both = await Promise.allSettled([change({ ntp: false }), change({ ntp: true })])
  t.match(both, [{ status: 'fulfilled' }, { reason: { code: 'clock_being_set' } }])
  t.match(await change({ ntp: true }), { ntp: true })
})
