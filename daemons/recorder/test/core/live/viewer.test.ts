import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heldBytes } from '#kit/test/heap.ts'
import { createViewer, type ViewerEvent, type ViewerState, viewerStateTable } from '../../../core/live/viewer.ts'

const head = { mime: 'video/mp4; codecs="avc1.64000c"', width: 320, height: 240, startAt: 7, bytes: new Uint8Array(9) }

/** A connection that holds what is sent until it is read. */
function stage({ roomBytes = 100_000 } = {}) {
  const clock = fakeClock()
  const sent: string[] = []
  const closed: number[] = []
  const line = {
    bufferedBytes: 0,
    isReading: true,
    send(message: string | Uint8Array) {
      if (line.bufferedBytes + message.length > roomBytes) return false
      if (!line.isReading) line.bufferedBytes += message.length + 10
      sent.push(typeof message === 'string' ? JSON.parse(message).type : `${message.length}`)
      return true
    },
    close: (code: number) => void closed.push(code),
  }
  const viewer = createViewer({ clock, line, isHearing: true, limits: { lagMs: 2000, slowMs: 10_000 } })
  const show = (isKey: boolean, bytes = isKey ? 500 : 100) => {
    viewer.show({ isKey, bytes: new Uint8Array(bytes) })
    clock.advance(100)
  }
  /** Ten pictures, the first of them a key frame. */
  const second = () => {
    for (let at = 0; at < 10; at++) show(at === 0)
  }
  return { clock, closed, line, second, sent, show, viewer }
}

t.test('first comes what the film is, then its head, then pictures from a key frame on', async (t) => {
  const { sent, show, viewer } = stage()
  viewer.begin(head)
  show(false)
  t.same(sent, [])
  show(true)
  show(false)
  t.same(sent, ['init', '9', '500', '100'])
  viewer.begin(head)
  show(false)
  show(true)
  t.same(sent.slice(4), ['init', '9', '500'], 'other parameters begin anew')
})

t.test('one that does not read is sent key frames alone, and is closed if it does not catch up', async (t) => {
  const { closed, line, second, sent, viewer } = stage()
  viewer.begin(head)
  line.isReading = false
  for (let times = 0; times < 3; times++) second()
  t.equal(viewer.state(), 'behind')
  const before = sent.length
  second()
  t.same(sent.slice(before), ['500'])
  for (let times = 0; times < 9; times++) second()
  t.same([closed, viewer.state()], [[1013], 'closed'])
  const after = sent.length
  second()
  t.equal(sent.length, after, 'nothing more is sent')
})

t.test('one that has caught up is sent every picture again, from a key frame on', async (t) => {
  const { closed, line, second, sent, show, viewer } = stage()
  viewer.begin(head)
  line.isReading = false
  for (let times = 0; times < 4; times++) second()
  t.equal(viewer.state(), 'behind')
  line.isReading = true
  line.bufferedBytes = 0
  show(false)
  const before = sent.length
  second()
  t.same(sent.slice(before), ['500', ...new Array(9).fill('100')])
  t.same([closed, viewer.state()], [[], 'flowing'])
})

t.test('one that reads late, but all the time, is not behind', async (t) => {
  const { line, second, viewer } = stage()
  viewer.begin(head)
  line.isReading = false
  for (let times = 0; times < 20; times++) {
    second()
    // All but the last second is read.
    line.bufferedBytes = Math.min(line.bufferedBytes, 1400)
  }
  t.equal(viewer.state(), 'flowing')
})

t.test('what does not fit is left out up to the next key frame, its head included', async (t) => {
  const { line, sent, show, viewer } = stage({ roomBytes: 400 })
  viewer.begin(head)
  show(true)
  t.same([sent, viewer.state()], [['init', '9'], 'behind'])
  show(true, 300)
  t.same(sent.at(-1), '300')
  t.equal(viewer.state(), 'flowing')
  line.bufferedBytes = 350
  show(false)
  t.equal(viewer.state(), 'behind')
})

t.test('sound goes on beside key frames alone, and what does not fit is left out', async (t) => {
  const { clock, line, sent, show, viewer } = stage({ roomBytes: 1300 })
  const hear = () => viewer.hear(new Uint8Array(70))
  viewer.begin(head)
  hear()
  t.same(sent, [], 'nothing of it is taken before the head')
  show(true)
  line.isReading = false
  show(false, 1000)
  clock.advance(2001)
  hear()
  show(false)
  t.equal(viewer.state(), 'behind')
  const before = sent.length
  hear()
  hear()
  t.same([sent.slice(before), viewer.state()], [['70', '70'], 'behind'])
  hear()
  t.equal(sent.length, before + 2)
  clock.advance(100)
  line.isReading = true
  line.bufferedBytes = 0
  hear()
  line.bufferedBytes = 80
  show(true)
  t.equal(viewer.state(), 'flowing', 'what is sent with a key frame is no backlog')
})

t.test('a camera that is removed ends it as usual', async (t) => {
  const { closed, viewer } = stage()
  viewer.end('removed')
  t.same(closed, [1000])
})

t.test('a viewer goes through its table', async (t) => {
  const reached: Record<ViewerState, () => ReturnType<typeof stage>> = {
    waiting() {
      const all = stage()
      all.viewer.begin(head)
      return all
    },
    flowing() {
      const all = reached.waiting()
      all.show(true)
      return all
    },
    behind() {
      const all = reached.flowing()
      all.line.bufferedBytes = 100_000
      all.show(false)
      return all
    },
    closed() {
      const all = reached.behind()
      all.clock.advance(10_001)
      all.show(false)
      return all
    },
  }
  const events: Record<ViewerEvent, (all: ReturnType<typeof stage>) => void> = {
    keyFrame({ line, show }) {
      line.bufferedBytes = 0
      show(true)
    },
    missed: ({ viewer }) => viewer.begin(head),
    tooSlow({ line, show }) {
      line.bufferedBytes = 100_000
      show(true)
    },
    outOfTime({ clock, show }) {
      clock.advance(10_001)
      show(false)
    },
  }
  for (const [state, row] of Object.entries(viewerStateTable))
    for (const [event, act] of Object.entries(events)) {
      const all = reached[state as ViewerState]()
      t.equal(all.viewer.state(), state)
      act(all)
      t.equal(all.viewer.state(), row[event as ViewerEvent] ?? state, `${state}, ${event}`)
    }
})

t.test('sound that goes on without pictures leaves nothing behind', async (t) => {
  const { sent, second, viewer } = stage()
  viewer.begin(head)
  second()
  const frame = new Uint8Array(200)
  const hear = () => {
    for (let times = 0; times < 50_000; times++) viewer.hear(frame)
    sent.length = 0
  }
  hear()
  const before = await heldBytes()
  hear()
  // What is noted of each of them is some 40 bytes, so that it was 2 MB.
  const left = (await heldBytes()) - before
  t.ok(left < 500_000, `${left} bytes are left of 50,000 frames of sound that were sent`)
})
