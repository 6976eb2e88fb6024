/** Tests of api/stream-route.ts. */
import type { Readable } from 'node:stream'
import t from 'tap'
import type { Reply } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { streamRoute } from '../../api/stream-route.ts'
import type { PictureViewer } from '../../core/pictures/picture-streams.ts'

type Parts = Parameters<typeof streamRoute>[0]

function stage() {
  const present = { masks: [] as unknown[], isGone: false }
  const viewers = new Set<PictureViewer>()
  let places = 0
  const { handle } = streamRoute({
    mostFps: 5,
    callers: { accountOf: () => ({ id: 'guard' }) } as unknown as Parts['callers'],
    cameras: {
      require() {
        if (present.isGone) throw new Fault('unknown_camera', 'gone')
        return { record: { id: 'door', masks: present.masks } }
      },
    } as unknown as Parts['cameras'],
    meter: {
      take() {
        places++
        return () => void places--
      },
    },
    streams: {
      watch(_, viewer) {
        viewers.add(viewer)
        return () => void viewers.delete(viewer)
      },
    },
  })
  const gone = new AbortController()
  const open = () => handle({ params: { id: 'door' }, query: {}, signal: gone.signal } as never) as Promise<Reply>

  /** Shows a picture whose bytes are its number. */
  function show(shownAt: number): void {
    for (const viewer of viewers)
      viewer.show({ shownAt, jpeg: Buffer.from(`<${shownAt}>`), masks: present.masks as never })
  }
  return { present, viewers, open, show, gone, places: () => places }
}

async function opened(stand: ReturnType<typeof stage>): Promise<Readable> {
  const answer = stand.open()
  stand.show(1)
  return (await answer).body as Readable
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** The numbers of the pictures that are sent while it is read. */
async function readFrom(stream: Readable): Promise<string> {
  const seen: string[] = []
  const hear = (chunk: Buffer) => void seen.push(...(String(chunk).match(/<\d+>/g) ?? []))
  stream.on('data', hear)
  stream.resume()
  await settled()
  stream.pause()
  stream.off('data', hear)
  return seen.join('')
}

t.test('a client that does not read is skipped, and gets the newest picture once it does', async (t) => {
  const stand = stage()
  const stream = await opened(stand)
  t.equal(await readFrom(stream), '<1>')
  for (let number = 2; number < 100; number++) stand.show(number)
  await settled()
  t.ok(stream.readableLength < 1000, `${stream.readableLength} bytes wait`)
  const next = await readFrom(stream)
  t.match(next, /<99>$/)
  t.ok(next.length <= '<2><99>'.length, next)
})

t.test('parts carry their length and their moment, and a boundary follows at once', async (t) => {
  const stand = stage()
  const answer = stand.open()
  stand.show(1234)
  const { body, headers, status } = await answer
  t.match(headers, { 'content-type': 'multipart/x-mixed-replace;boundary=svc-frame', 'cache-control': 'no-store' })
  t.equal(status, 200)
  const part = String((body as Readable).read())
  t.equal(
    part,
    '--svc-frame\r\nContent-Type: image/jpeg\r\nContent-Length: 6\r\nX-Svc-Frame-At: 1234\r\n\r\n<1234>\r\n--svc-frame\r\n',
  )
})

t.test(
  'a picture that waits is dropped once the camera has other masks, and the stream ends with the camera',
  async (t) => {
    const stand = stage()
    const stream = await opened(stand)
    t.equal(await readFrom(stream), '<1>')
    stand.show(2)
    stand.show(3)
    stand.present.masks = [[]]
    t.notMatch(await readFrom(stream), /3/)
    stand.show(4)
    t.match(await readFrom(stream), /<4>$/)
    stand.present.isGone = true
    stand.show(5)
    t.notMatch(await readFrom(stream), /5/)
    t.ok(stream.readableEnded, 'whole, and no cut')
    t.same([stand.viewers.size, stand.places()], [0, 0])
  },
)

t.test('why there is no picture is the answer, and the place is given back', async (t) => {
  const stand = stage()
  const answer = stand.open()
  t.equal(stand.places(), 1)
  for (const viewer of stand.viewers) viewer.end(new Fault('decoder_missing', 'install it'))
  await t.rejects(answer, { code: 'decoder_missing' })
  await settled()
  t.same([stand.viewers.size, stand.places()], [0, 0])
})

t.test('who leaves before the first picture gives the place back', async (t) => {
  const stand = stage()
  const answers = [stand.open()]
  stand.gone.abort()
  answers.push(stand.open())
  for (const answer of answers) await t.rejects(answer, { code: 'no_picture' })
  t.same([stand.viewers.size, stand.places()], [0, 0])
})
