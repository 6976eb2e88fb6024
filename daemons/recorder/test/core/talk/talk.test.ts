/** What cameras say: pace, one message at a time, and cameras that are lost over it. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { CameraRecord, Talkback } from '../../../core/cameras/book.ts'
import type { TalkLine } from '../../../core/talk/speaking.ts'
import { createTalk } from '../../../core/talk/talk.ts'

const END_MS = 500
const SECOND = Int16Array.from({ length: 8000 }, (_, n) => n)

/** Cameras that take what they are sent, and a message of a second. */
function stage({ most = 2, law = 'PCMU' as const } = {}) {
  const clock = fakeClock()
  const packets: number[] = []
  const kept: [string, Talkback][] = []
  const state = { takes: true, refusal: undefined as Fault | undefined, closed: 0, opens: Promise.resolve() }
  const lost = Promise.withResolvers<Fault>()
  const talk = createTalk({
    ...{ clock, log: silentLog, most, endMs: END_MS },
    talker: {
      async open(_, signal): Promise<TalkLine> {
        await state.opens
        signal.throwIfAborted()
        if (state.refusal) throw state.refusal
        return {
          ...{ law, over: lost.promise },
          send(bytes) {
            if (state.takes) packets.push(bytes.length)
            return state.takes
          },
          close: () => void state.closed++,
        }
      },
    },
    messages: {
      require(id) {
        if (id !== 'm') throw new Fault('unknown_message', 'none')
        return { id, name: 'Closed', source: 'file', text: null, seconds: 1, createdAt: 0 }
      },
      soundOf: async () => SECOND,
    },
    keep: async (camera, talkback) => void kept.push([camera, talkback]),
  })
  return { clock, packets, kept, state, lost, talk }
}

const camera = (id: string) => ({ id, name: id, url: 'rtsp://h/', username: null, password: null }) as CameraRecord

/** Lets what waits for promises go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('RFC 3551, 4.2: a packet of 160 bytes goes each 20 ms, and repeats follow each other', async (t) => {
  const { clock, packets, state, talk } = stage()
  const { done, seconds } = await talk.say(camera('a'), 'm', 2)
  t.equal(seconds, 2)
  t.equal(packets.length, 1, 'the first at once')
  for (let ms = 0; ms < 500; ms += 20) clock.advance(20)
  t.equal(packets.length, 26)
  for (let ms = 0; ms < 1600; ms += 20) {
    clock.advance(20)
    await settled()
  }
  t.equal(packets.length, 100)
  clock.advance(END_MS - 200)
  await settled()
  t.equal(state.closed, 0, 'the loudspeaker still plays from its buffer')
  clock.advance(200)
  t.equal(await done, undefined)
  t.ok(packets.every((length) => length === 160))
  t.equal(state.closed, 1)
})

t.test('a machine that was held up sends a fifth of a second at most, and goes on at the old pace', async (t) => {
  const { clock, packets, talk } = stage()
  await talk.say(camera('a'), 'm', 1)
  clock.advance(800)
  const after = packets.length
  t.ok(after <= 1 + 41, `${after} packets`)
  clock.advance(20)
  t.equal(packets.length, after + 1)
  talk.close()
})

t.test('a camera says one message at a time, and so many cameras speak at once', async (t) => {
  const { talk } = stage({ most: 2 })
  await talk.say(camera('a'), 'm', 1)
  await t.rejects(talk.say(camera('a'), 'm', 1), { code: 'talk_busy', message: /speaks already/ })
  await talk.say(camera('b'), 'm', 1)
  await t.rejects(talk.say(camera('c'), 'm', 1), { code: 'talk_busy', message: /talk\.cameras allows 2/ })
  t.equal(talk.stop('a'), true)
  await settled()
  t.equal(talk.stop('a'), false, 'it was stopped')
  await talk.say(camera('c'), 'm', 1)
  talk.close()
})

t.test(
  'a camera that takes nothing any more, or is lost, ends what it says, and may be spoken through anew',
  async (t) => {
    const { clock, lost, state, talk } = stage()
    const first = await talk.say(camera('a'), 'm', 3)
    state.takes = false
    clock.advance(20)
    t.match(await first.done, { code: 'camera_silent' })
    state.takes = true
    const second = await talk.say(camera('a'), 'm', 1)
    lost.resolve(new Fault('camera_ended', 'gone'))
    t.match(await second.done, { code: 'camera_ended' })
    t.equal(state.closed, 2)
  },
)

t.test('what was stopped was not said, and what is only asked for its loudspeaker does not speak', async (t) => {
  const { clock, state, talk } = stage()
  const { done } = await talk.say(camera('a'), 'm', 1)
  clock.advance(200)
  t.equal(talk.stop('a'), true)
  t.match(await done, { code: 'talk_stopped' })
  const opening = Promise.withResolvers<void>()
  state.opens = opening.promise
  const asked = talk.probe(camera('a'))
  t.equal(talk.stop('a'), false)
  opening.resolve()
  t.match(await asked, { codec: 'PCMU' })
})

t.test('a camera without a loudspeaker is remembered as such; one that is away has said nothing', async (t) => {
  const { kept, state, talk } = stage()
  t.match(await talk.probe(camera('a')), { codec: 'PCMU', reason: null })
  state.refusal = new Fault('no_talkback', 'It has none.')
  t.match(await talk.probe(camera('a')), { codec: null, reason: 'It has none.' })
  state.refusal = new Fault('camera_unreachable', 'It is away.')
  await t.rejects(talk.probe(camera('a')), { code: 'camera_unreachable' })
  t.match(kept, [
    ['a', { codec: 'PCMU' }],
    ['a', { codec: null }],
  ])
  await t.rejects(talk.say(camera('a'), 'x', 1), { code: 'unknown_message' })
  await t.rejects(talk.say(camera('a'), 'm', 1), { code: 'camera_unreachable' })
  state.refusal = undefined
  await talk.say(camera('a'), 'm', 1)
  talk.close()
})
