/** Tests of core/pictures/picture-streams.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { ChosenPicture } from '../../../core/pictures/choice.ts'
import { createPictureStreams, type StreamWish } from '../../../core/pictures/picture-streams.ts'
import type { PictureWish } from '../../../core/ports.ts'
import type { Mask } from '../../../wire/mask.ts'

const limits = { fps: 5, totalFps: 20, waitMs: 10_000, jpegBytes: 1000 }

/** A recorder whose cameras send a picture at each moment that `send` says, and whose decoder takes `tookMs`. */
function stage() {
  const clock = fakeClock()
  const newest = new Map<string, ChosenPicture>()
  const masks = new Map<string, readonly Mask[]>([
    ['door', []],
    ['yard', []],
  ])
  const decoded: string[] = []
  const decoder = {
    tookMs: 0,
    fault: undefined as Fault | undefined,
    bytes: 10,
    atOnce: 0,
    picture({ camera, masks: painted, width }: PictureWish, signal: AbortSignal): Promise<Uint8Array> {
      decoded.push(`${camera} ${width ?? 'full'}${painted.length > 0 ? ' masked' : ''}`)
      t.equal(++this.atOnce, 1, 'one after the other')
      return new Promise((resolve, reject) => {
        clock.after(this.tookMs, () => {
          this.atOnce--
          if (signal.aborted) reject(new Fault('decoder_busy', 'gone'))
          else if (this.fault) reject(this.fault)
          else resolve(new Uint8Array(this.bytes))
        })
      })
    },
  }
  const streams = createPictureStreams({
    ...{ clock, limits, decoder },
    newest: (camera) => newest.get(camera),
    masksOf(camera) {
      const list = masks.get(camera)
      if (!list) throw new Fault('unknown_camera', 'gone')
      return list
    },
  })

  function send(...cameras: string[]): void {
    const picture = { group: {}, shownAt: clock.epochMs() } as ChosenPicture
    for (const camera of cameras) newest.set(camera, picture)
  }

  /** Passes time, in which cameras send 20 pictures a second. */
  async function pass(ms: number, ...cameras: string[]): Promise<void> {
    for (let gone = 0; gone < ms; gone += 50) {
      send(...cameras)
      await clock.run(50)
    }
  }

  function watch(wish: Partial<StreamWish> = {}) {
    const seen: number[] = []
    const why: string[] = []
    const leave = streams.watch(
      { camera: 'door', width: undefined, fps: 5, ...wish },
      {
        show: ({ shownAt }) => void seen.push(shownAt),
        end(error) {
          why.push((error as Fault).code)
          leave()
        },
      },
    )
    return { seen, why, leave }
  }
  return { clock, newest, masks, decoded, decoder, send, pass, watch }
}

t.test('a camera is decoded once for all who watch it, at its rate, and not while nobody does', async (t) => {
  const { clock, decoded, pass, watch } = stage()
  await pass(1000, 'door')
  t.same(decoded, [], 'nobody watches')
  const viewers = [watch(), watch(), watch()]
  await pass(2000, 'door')
  t.ok(decoded.length >= 9 && decoded.length <= 11, `${decoded.length} in two seconds`)
  for (const { seen } of viewers) {
    t.equal(seen.length, decoded.length)
    t.same(seen, [...new Set(seen)].sort(), 'each once, in order')
  }
  for (const { leave } of viewers) leave()
  const before = decoded.length
  await pass(1000, 'door')
  t.equal(decoded.length, before)
  t.equal(clock.pending(), 0, 'nothing is looked at any more')
})

t.test('who joins is shown the newest picture at once', async (t) => {
  const { decoded, pass, send, watch } = stage()
  watch()
  await pass(50, 'door')
  send('door')
  const late = watch()
  t.equal(late.seen.length, 1)
  t.equal(decoded.length, 1)
})

t.test('each gets as many pictures as it asked for', async (t) => {
  const { pass, watch } = stage()
  const [fast, slow] = [watch(), watch({ fps: 1 })]
  await pass(4000, 'door')
  t.ok(slow.seen.length >= 3 && slow.seen.length <= 5, `${slow.seen.length}`)
  t.ok(fast.seen.length >= 18, `${fast.seen.length}`)
})

t.test('cameras have their turns, however many widths are asked of one', async (t) => {
  const { decoded, decoder, pass, watch } = stage()
  decoder.tookMs = 100
  for (let width = 100; width < 120; width++) watch({ width })
  const yard = watch({ camera: 'yard' })
  await pass(4000, 'door', 'yard')
  t.ok(yard.seen.length >= 8, `${yard.seen.length} of ${decoded.length}`)
})

t.test('half of the time of the decoder is left to others', async (t) => {
  const { decoded, decoder, pass, watch } = stage()
  decoder.tookMs = 500
  watch()
  await pass(10_000, 'door')
  t.ok(decoded.length >= 9 && decoded.length <= 11, `${decoded.length} pictures of 0.5 s in 10 s`)
})

t.test('a picture that is there already is not made again, but one with other masks is', async (t) => {
  const { decoded, masks, pass, send, watch } = stage()
  const { seen } = watch()
  send('door')
  await pass(1000)
  t.equal(seen.length, 1)
  masks.set('door', [[[0, 0]]])
  await pass(1000)
  t.same(decoded, ['door full', 'door full masked'])
  t.equal(seen.length, 2)
})

t.test('masks that are set while a picture is made are in it', async (t) => {
  const { decoded, decoder, masks, pass, send, watch } = stage()
  decoder.tookMs = 100
  const { seen } = watch()
  send('door')
  await pass(50)
  masks.set('door', [[[0, 0]]])
  await pass(400)
  t.same(decoded, ['door full', 'door full masked'])
  t.equal(seen.length, 1)
})

t.test('a camera that sends nothing is said to who opens it; who watches already waits', async (t) => {
  const { newest, pass, watch } = stage()
  const early = watch()
  await pass(100)
  t.same(early.why, ['no_picture'])
  const viewer = watch()
  await pass(1000, 'door')
  newest.delete('door')
  await pass(20_000)
  t.same(viewer.why, [])
  await pass(400, 'door')
  t.ok(viewer.seen.length > 5)
})

t.test('a decoder that fails is said to who opens, and ends who watches only after a while', async (t) => {
  const { decoder, pass, watch } = stage()
  const viewer = watch()
  await pass(1000, 'door')
  decoder.fault = new Fault('decoder_failed', 'it ended')
  await pass(5000, 'door')
  const late = watch()
  await pass(400, 'door')
  t.same([viewer.why, late.why], [[], ['decoder_failed']])
  decoder.fault = undefined
  const before = viewer.seen.length
  await pass(1000, 'door')
  t.ok(viewer.seen.length > before, 'it goes on')
  decoder.fault = new Fault('decoder_failed', 'it ended')
  await pass(11_000, 'door')
  t.same(viewer.why, ['decoder_failed'])
})

t.test(
  'what does not pass by itself ends a stream at once: no decoder, a large JPEG, a camera that is gone',
  async (t) => {
    const { decoder, masks, pass, watch } = stage()
    const viewers = [watch()]
    await pass(400, 'door')
    decoder.fault = new Fault('decoder_missing', 'install it')
    await pass(400, 'door')
    decoder.fault = undefined
    viewers.push(watch())
    await pass(400, 'door')
    decoder.bytes = 1001
    await pass(400, 'door')
    decoder.bytes = 10
    viewers.push(watch())
    await pass(400, 'door')
    masks.delete('door')
    await pass(400, 'door')
    t.same(
      viewers.map(({ why }) => why),
      [['decoder_missing'], ['picture_too_large'], ['unknown_camera']],
    )
  },
)
