/** Tests of core/streams/finding.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { SessionFinder, type SessionPlace } from '../../../core/streams/finding.ts'

function rig(most = 16) {
  const clock = fakeClock()
  const asked: SessionPlace[] = []
  const told: string[] = []
  const answers = { sdp: 'v=0' as string | undefined, held: false, under: 0, most: 0 }
  const finder = new SessionFinder({
    clock,
    most,
    describeMs: 60_000,
    roundMs: 10_000,
    book: {
      heard: ({ by, from, sdp }) => void told.push(`+${by.join()} ${from} ${sdp}`),
      takenBack: ({ from, sdp }) => void told.push(`-${from} ${sdp}`),
    },
    async describe(place) {
      asked.push(place)
      answers.most = Math.max(answers.most, ++answers.under)
      if (answers.held) await new Promise<void>((resolve) => clock.after(1000, resolve))
      answers.under--
      if (answers.sdp === undefined) throw new Error('nobody')
      return answers.sdp
    },
  })
  const hear = (change: Partial<HeardService> = {}) => {
    const service = { id: 'a._rtsp._tcp.local', name: 'A b', host: 'a.local', port: 554, from: '10.0.0.9' }
    finder.heard({ ...service, reach: ['10.0.0.9'], text: new Map(), ...change })
  }
  return { clock, asked, told, answers, finder, hear }
}

t.test('a session that is announced is asked for by its name, and reported', async (t) => {
  const { asked, clock, finder, hear, told } = rig()
  hear()
  await clock.run(0)
  t.same(asked, [{ address: '10.0.0.9', port: 554, path: '/by-name/A%20b' }])
  t.same(told, ['+mdns,rtsp 10.0.0.9 v=0'])
  await clock.run(10_000)
  hear()
  t.equal(told.length, 2, 'announced again, it is reported again')
  t.equal(asked.length, 1, 'and not asked')
  await clock.run(60_000)
  hear()
  await clock.run(0)
  t.equal(asked.length, 2, 'until it is time')
  t.same(finder.counts(), { sessions: 1, described: 1, failed: 0 })
})

t.test('a device that announces a session at an address not its own is not asked', async (t) => {
  const { asked, clock, hear } = rig()
  hear({ reach: ['10.0.0.1'] })
  hear({ reach: ['10.0.0.1', '10.0.0.9'] })
  hear({ reach: ['fe80::1'], from: 'fe80::1' })
  await clock.run(1000)
  t.same(asked, [])
})

t.test('a device that gives no description is asked again after a while', async (t) => {
  const { answers, asked, clock, finder, hear, told } = rig()
  answers.sdp = undefined
  hear()
  await clock.run(10_000)
  hear()
  await clock.run(0)
  t.equal(asked.length, 1)
  await clock.run(10_000)
  answers.sdp = 'v=0'
  hear()
  await clock.run(0)
  t.equal(asked.length, 2)
  t.equal(told.length, 1)
  t.match(finder.counts(), { failed: 1 })
})

t.test('another port is asked at once', async (t) => {
  const { asked, clock, hear } = rig()
  hear()
  await clock.run(0)
  hear({ port: 8554 })
  await clock.run(0)
  t.equal(asked[1]?.port, 8554)
})

t.test('after a farewell the device is asked; its session is gone if it does not answer', async (t) => {
  const { answers, asked, clock, finder, hear, told } = rig()
  hear()
  await clock.run(0)
  finder.gone('a._rtsp._tcp.local')
  await clock.run(0)
  t.equal(asked.length, 2)
  t.equal(finder.counts().sessions, 1, 'a forged farewell')
  answers.sdp = undefined
  finder.gone('a._rtsp._tcp.local')
  await clock.run(0)
  t.equal(told.at(-1), '-10.0.0.9 v=0')
  t.equal(finder.counts().sessions, 0)
})

t.test(
  'hundreds of forged farewells cause only a few requests to a device, and a true one among them is noticed',
  async (t) => {
    const { answers, asked, clock, finder, hear } = rig()
    hear()
    await clock.run(0)
    for (let count = 0; count < 500; count++) {
      finder.gone('a._rtsp._tcp.local')
      await clock.run(10)
    }
    t.ok(asked.length <= 4, `${asked.length} times in five seconds`)
    t.equal(finder.counts().sessions, 1)
    answers.sdp = undefined
    finder.gone('a._rtsp._tcp.local')
    await clock.run(10_000)
    t.equal(finder.counts().sessions, 0)
  },
)

t.test('a session that is no longer announced is asked for, and stays while its device answers', async (t) => {
  const { answers, asked, clock, finder, hear, told } = rig()
  hear()
  await clock.run(31_000)
  t.equal(asked.length, 1)
  await clock.run(10_000)
  t.equal(asked.length, 2)
  t.equal(finder.counts().sessions, 1)
  answers.sdp = undefined
  await clock.run(50_000)
  t.equal(finder.counts().sessions, 0)
  t.equal(told.at(-1), '-10.0.0.9 v=0')
})

t.test('four are asked at once, and no more are kept than there is room for', async (t) => {
  const { answers, clock, finder, hear } = rig(16)
  answers.held = true
  for (let count = 0; count < 100; count++)
    hear({ id: `s${count}._rtsp._tcp.local`, from: `10.0.1.${count}`, reach: [`10.0.1.${count}`] })
  t.match(finder.counts(), { sessions: 16, described: 0 })
  await clock.run(60_000)
  t.equal(answers.most, 4)
  t.equal(finder.counts().described, 16)
  hear({ id: 'late._rtsp._tcp.local' })
  t.equal(finder.counts().sessions, 16)
  finder.stop()
  hear()
  t.equal(finder.counts().sessions, 0)
})
