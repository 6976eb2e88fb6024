/**
 * The process that decodes: coded pictures in, JPEG out, by GStreamer. It is begun by picture-decoder.ts, which hands it
 * one message at a time, and kills it where it takes too long. What it is given came from cameras, and may be meant to
 * break it.
 */
import { Socket } from 'node:net'
import { getPriority, setPriority } from 'node:os'
import {
  createAudioClock,
  type GstMessage,
  type HeldSample,
  openPipeline,
  readSample,
  type Sample,
  startGst,
} from '#native/node-gst/index.ts'
import { layoutOf, type Mask, paintMasks } from '../wire/mask.ts'
import { createWorkerReader, type WorkerMessage, writeWorkerMessage } from '../wire/worker-message.ts'

/** The best first. libav decodes what cameras send; openh264 neither interlaced pictures nor some of the high profile. */
const DECODERS: Readonly<Record<string, readonly string[]>> = {
  h264: ['avdec_h264 max-threads=2', 'openh264dec'],
  h265: ['avdec_h265 max-threads=2'],
}

/** Without delay: a picture in, one out. */
const ENCODERS = [
  'x264enc speed-preset=ultrafast tune=zerolatency threads=2 key-int-max=10000 bitrate=KBITS',
  'openh264enc complexity=low gop-size=10000 rate-control=bitrate bitrate=BITS',
]

/** Bits a second for each pixel: 4 Mbit/s for 1920 x 1080. */
const BITS_PER_PIXEL = 2

/** Files of plugins: gstreamer1.0-plugins-base, -good, -libav, -bad and -ugly. */
const PLUGINS = ['app', 'videoconvertscale', 'jpeg', 'libav', 'openh264', 'x264']

/** Steps of niceness below the recorder. */
const NICER = 5

/** As the other side has it. */
const MOST_MESSAGE_BYTES = 268_435_456

const socket = new Socket({ fd: 3, readable: true, writable: true })
socket.on('close', () => process.exit(0))
socket.on('error', () => process.exit(0))

function send(head: object, body: readonly Uint8Array[] = []): void {
  for (const part of writeWorkerMessage(head, body)) socket.write(part)
}

function isThere(element: string): boolean {
  try {
    void openPipeline(`${element} ! fakesink`, { clock, realtimePriority: 0, onMessage() {} }).close()
    return true
  } catch {
    return false
  }
}

/** Says what there is. Without GStreamer itself this ends here, with the loader's words. */
function begin() {
  try {
    startGst(PLUGINS)
    return createAudioClock()
  } catch (error) {
    send({ kind: 'missing', why: (error as Error).message.slice(0, 500) })
    throw error
  }
}

const clock = begin()
const canConvert = ['videoscale ! videoconvert', 'jpegenc', 'appsrc'].every(isThere)
const decoders = Object.entries(DECODERS).map(([codec, known]) => [codec, canConvert ? known.find(isThere) : undefined])
const decoderOf: Readonly<Record<string, string | undefined>> = Object.fromEntries(decoders)
const encoder = canConvert ? ENCODERS.find((each) => isThere(rated(each, 1_000_000))) : undefined
// Below what records, and above detectors. Not from the start: on a busy machine somebody would wait 20 s for the first picture.
setPriority(Math.min(getPriority() + NICER, 19))
send({ kind: 'ready', decoders: decoderOf, encoder: encoder?.split(' ')[0] ?? null })

/** A pipeline from its element `in` to its element `out`. */
interface Flow {
  push(bytes: Uint8Array | HeldSample, ptsNs: number): void
  /** Nothing follows. */
  end(): void
  /** What was pushed before comes out, as far as it does; more may follow. @param ptsNs behind all of it */
  drain(ptsNs: number): void
  /** Nothing enters the element `gate` but what has this time. */
  letOnlyIn(ptsNs: number): void
  pull(): Sample | undefined
  take(): HeldSample | undefined
  /** Resolves with the next message of the kind, or once all has come out. */
  heard(type: GstMessage['type']): Promise<void>
  /** Resolves once all has come out. */
  over: Promise<void>
  close(): Promise<void>
}

async function openFlow(description: string, onSample?: () => void): Promise<Flow> {
  const over = Promise.withResolvers<void>()
  let awaited: { type: GstMessage['type']; come: () => void } | undefined
  const pipeline = openPipeline(description, {
    clock,
    realtimePriority: 0,
    onMessage(message) {
      if (message.type === 'sample') onSample?.()
      if (message.type === 'eos') over.resolve()
      if (message.type === 'error') over.reject(new Error(message.message))
      if (message.type === awaited?.type) awaited.come()
    },
  })
  // Nobody waits for it while the pipeline begins.
  over.promise.catch(() => {})
  const close = () => pipeline.close()
  try {
    await pipeline.play()
  } catch (error) {
    await close()
    throw error
  }
  return {
    push(from, ptsNs) {
      const bytes = from instanceof Uint8Array ? from : from.held
      pipeline.push('in', { bytes, ptsNs, durationNs: 1 })
    },
    end: () => pipeline.end('in'),
    drain: (ptsNs) => pipeline.drain('in', ptsNs),
    letOnlyIn: (ptsNs) => pipeline.letOnlyIn('gate', ptsNs),
    pull: () => pipeline.pull('out'),
    take: () => pipeline.take('out'),
    async heard(type) {
      const next = Promise.withResolvers<void>()
      awaited = { type, come: next.resolve }
      await Promise.race([next.promise, over.promise])
    },
    over: over.promise,
    close,
  }
}

/** A flow that stays for the next picture of its kind, which saves building it anew; another takes its place. */
function createKeptFlow() {
  let kept: { kind: string; flow: Flow } | undefined

  async function drop(): Promise<void> {
    const old = kept?.flow
    kept = undefined
    await old?.close()
  }
  return {
    drop,
    async flow(description: string, kind = description): Promise<Flow> {
      if (kept?.kind === kind) return kept.flow
      await drop()
      kept = { kind, flow: await openFlow(description) }
      return kept.flow
    },
  }
}

const decoding = createKeptFlow()
const coding = createKeptFlow()

/** Times have to grow in a flow: pictures of all groups have one behind the other. */
let usedNs = 0
const PICTURE_NS = 1000

/** Keeps the newest, and waits for nobody. */
const SINK = 'appsink name=out sync=false async=false wait-on-eos=false max-buffers=1 drop=true'

/** Keeps all, and makes those before it wait. */
const SLOW_SINK = 'appsink name=out sync=false max-buffers=2'

interface Coded {
  kind: 'picture' | 'film' | 'look'
  codec: string
  width: number
  height: number
  /** Of each access unit in the body, in the order of decoding. */
  lengths: readonly number[]
  /** When each is shown, in nanoseconds since the first. */
  ptsNs: readonly number[]
  masks: readonly Mask[]
}

interface PictureWish extends Coded {
  /** The parameter sets. */
  sets: string
  /** Whether the flows may stay for the next picture. */
  isKept: boolean
  /** Shades instead of a JPEG. */
  isGrey: boolean
  outWidth: number
  outHeight: number
}

function decoderFor({ codec, height, width }: Coded): string {
  const decoder = decoderOf[codec]
  if (decoder === undefined) throw new Error(`there is no decoder for ${codec}`)
  const caps = `video/x-${codec},stream-format=byte-stream,alignment=au,width=${width},height=${height},profile=high`
  return `appsrc name=in format=time max-bytes=0 caps=${caps} ! ${decoder}`
}

const IN_PLANES = 'videoconvert name=gate ! video/x-raw,format=I420'

function feedUnits(flow: Flow, lengths: readonly number[], ptsNs: readonly number[], body: Uint8Array): void {
  let at = 0
  for (const [index, length] of lengths.entries()) {
    flow.push(body.subarray(at, at + length), ptsNs[index] ?? 0)
    at += length
  }
}

/** Times of pictures in the order in which they are shown, behind all that were used. */
function timesOf(shownNs: readonly number[]): number[] {
  const order = new Map([...new Set(shownNs)].sort((a, b) => a - b).map((ns, at) => [ns, usedNs + at * PICTURE_NS]))
  usedNs += (order.size + 1) * PICTURE_NS
  return shownNs.map((ns) => order.get(ns) ?? 0)
}

/**
 * Whether a decoder gives out all that it holds, and forgets it, without its stream having to end. OpenH264's does not: it
 * would fill up what is missing in a picture from the one before, which may be another camera's.
 */
function canGoOn({ codec }: Coded): boolean {
  return decoderOf[codec]?.startsWith('avdec') === true
}

/** @returns the picture that the last access unit holds */
async function decodeLast(wish: PictureWish, body: Uint8Array): Promise<HeldSample> {
  const isKept = wish.isKept && canGoOn(wish)
  const description = `${decoderFor(wish)} ! ${IN_PLANES} ! ${SINK}`
  // What the sets say of colours, a decoder that goes on would not notice.
  const flow = await decoding.flow(description, `${description} ${wish.sets}`)
  const times = timesOf(wish.ptsNs)
  const wantedNs = times.at(-1) ?? 0
  // Pictures that are shown later may be among those that it refers to: they come out behind it.
  flow.letOnlyIn(wantedNs)
  const drained = flow.heard('drained')
  feedUnits(flow, wish.lengths, times, body)
  if (isKept) flow.drain(usedNs)
  else flow.end()
  await drained
  const sample = flow.take()
  if (!isKept) await decoding.drop()
  if (sample?.ptsNs !== wantedNs) throw new Error('the picture does not come out of the decoder')
  return sample
}

function isAnnounced(caps: string, bytes: number, { height, width }: Coded): boolean {
  const has = (name: string) => Number(new RegExp(`${name}=\\(int\\)(\\d+)`).exec(caps)?.[1])
  return has('width') === width && has('height') === height && bytes === layoutOf(width, height).bytes
}

/** Checks that a picture is what was announced, and paints the masks into it. */
function paint({ bytes, caps }: Sample, wish: Coded): void {
  const { height, masks, width } = wish
  if (!isAnnounced(caps, bytes.length, wish))
    throw new Error('the picture has another size than its parameter set says')
  paintMasks({ bytes, width, height }, masks)
}

function coloursOf(caps: string, { height }: Coded): string {
  return /colorimetry=\(string\)([\w:]+)/.exec(caps)?.[1] ?? (height > SD_HEIGHT ? 'bt709' : LIMITED)
}

/** A JPEG has all shades, and the colours of BT.601. */
const ALL_SHADES = '1:4:0:0'
const LIMITED = 'bt601'
/** What says nothing of its colours has those of BT.601 up to this height, and else those of BT.709. */
const SD_HEIGHT = 576

const LUMA = Uint8ClampedArray.from({ length: 256 }, (_, shade) => ((shade - 16) * 255) / 219)
const COLOUR = Uint8ClampedArray.from({ length: 256 }, (_, shade) => ((shade - 128) * 255) / 224 + 128)

/** From 16..235 to 0..255. */
function stretch(bytes: Uint8Array, { chromaRows, chromaStride }: ReturnType<typeof layoutOf>): void {
  const colours = bytes.length - 2 * chromaStride * chromaRows
  for (let at = 0; at < colours; at++) bytes[at] = LUMA[bytes[at] ?? 0] ?? 0
  for (let at = colours; at < bytes.length; at++) bytes[at] = COLOUR[bytes[at] ?? 0] ?? 0
}

/** What goes into the coder: as it came, where nothing has to be changed in it. Masks are painted before it is scaled. */
function prepared(sample: HeldSample, colours: string, wish: PictureWish): Uint8Array | HeldSample {
  const { height, masks, width } = wish
  if (masks.length === 0 && colours !== LIMITED && isAnnounced(sample.caps, sample.length, wish)) return sample
  const own = readSample(sample)
  paint(own, wish)
  // GStreamer's converter leaves the shades as they are where nothing else has to change.
  if (colours === LIMITED) stretch(own.bytes, layoutOf(width, height))
  return own.bytes
}

/** @param into what makes of the scaled picture what is asked for */
async function madeOf(sample: HeldSample, wish: PictureWish, into: string): Promise<Uint8Array> {
  const { height, isKept, width } = wish
  const colours = coloursOf(sample.caps, wish)
  const picture = prepared(sample, colours, wish)
  const from = `video/x-raw,format=I420,width=${width},height=${height},framerate=0/1,colorimetry=${colours === LIMITED ? ALL_SHADES : colours}`
  const flow = await coding.flow(
    `appsrc name=in format=time max-bytes=0 caps=${from} ! videoscale ! videoconvert ! ${into} ! ${SINK}`,
  )
  const made = flow.heard('sample')
  usedNs += PICTURE_NS
  flow.push(picture, usedNs)
  await made
  const out = flow.pull()
  if (!isKept) await coding.drop()
  if (!out) throw new Error('nothing is made of the picture')
  return out.bytes
}

/** @returns a JPEG, or its shades */
function stillOf(sample: HeldSample, wish: PictureWish): Promise<Uint8Array> {
  const size = `width=${wish.outWidth},height=${wish.outHeight},pixel-aspect-ratio=1/1`
  const jpeg = `video/x-raw,format=I420,${size},colorimetry=${ALL_SHADES} ! jpegenc quality=85`
  return madeOf(sample, wish, wish.isGrey ? `video/x-raw,format=GRAY8,${size}` : jpeg)
}

interface LookWish extends PictureWish {
  /** So many pixels of the picture, each way, are one of the grey one. */
  greyStep: number
}

/** @returns red, green and blue of each pixel, and behind them the grey picture */
async function lookOf(sample: HeldSample, wish: LookWish): Promise<Uint8Array[]> {
  const { greyStep, outHeight, outWidth } = wish
  const rgb = await madeOf(
    sample,
    wish,
    `video/x-raw,format=RGB,width=${outWidth},height=${outHeight},pixel-aspect-ratio=1/1`,
  )
  // A row that is no multiple of four bytes would be filled up.
  if (rgb.length !== outWidth * outHeight * 3) throw new Error('the picture has another size than was asked for')
  return [rgb, shadesOf(rgb, { width: outWidth, height: outHeight, step: greyStep })]
}

/** A byte for each square of pixels: their mean brightness. */
function shadesOf(
  rgb: Uint8Array,
  { height, step, width }: { width: number; height: number; step: number },
): Uint8Array {
  const [columns, rows] = [Math.floor(width / step), Math.floor(height / step)]
  const sums = new Uint32Array(columns * rows)
  for (let y = 0; y < rows * step; y++)
    for (let x = 0; x < columns * step; x++) {
      const at = (y * width + x) * 3
      const cell = Math.floor(y / step) * columns + Math.floor(x / step)
      const shade = (rgb[at] ?? 0) + 2 * (rgb[at + 1] ?? 0) + (rgb[at + 2] ?? 0)
      sums[cell] = (sums[cell] ?? 0) + shade
    }
  return Uint8Array.from(sums, (sum) => sum / (4 * step * step))
}

interface FilmWish extends Coded {
  /** Pictures that are shown before are left out. */
  fromNs: number
}

/** Pictures that the coder has at once. */
const MOST_CODING = 4

function rated(description: string, bits: number): string {
  return description.replace('KBITS', String(Math.max(1, Math.round(bits / 1000)))).replace('BITS', String(bits))
}

/** Decodes a group, paints masks, and codes it again; one picture after the other, so that few are held. */
async function filmOf(wish: FilmWish, body: Uint8Array): Promise<Sample[]> {
  if (encoder === undefined) throw new Error('there is no coder of H.264: install gstreamer1.0-plugins-ugly or -bad')
  const { fromNs, height, width } = wish
  const made: Sample[] = []
  const pushedNs: number[] = []
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  let coding = 0
  let coder: Flow | undefined

  function pump(): void {
    try {
      for (; coder && coding < MOST_CODING; coding++) {
        let sample = decoder.pull()
        while (sample && (sample.ptsNs ?? 0) < fromNs) sample = decoder.pull()
        if (!sample) return
        paint(sample, wish)
        coder.push(sample.bytes, sample.ptsNs ?? 0)
        pushedNs.push(sample.ptsNs ?? 0)
      }
    } catch (error) {
      failed.reject(error)
    }
  }

  const decoder = await openFlow(`${decoderFor(wish)} ! ${IN_PLANES} ! ${SLOW_SINK}`, pump)
  try {
    const from = `video/x-raw,format=I420,width=${width},height=${height},framerate=25/1`
    const to = 'video/x-h264,stream-format=byte-stream,alignment=au'
    const bits = Math.round(width * height * BITS_PER_PIXEL)
    coder = await openFlow(
      `appsrc name=in format=time max-bytes=0 caps=${from} ! ${rated(encoder, bits)} ! ${to} ! ${SLOW_SINK}`,
      () => {
        for (let one = coder?.pull(); one; one = coder?.pull()) {
          // In the order in which they went in; x264enc adds a thousand hours to their times.
          made.push({ ...one, ptsNs: pushedNs[made.length] ?? 0 })
          coding--
        }
        pump()
      },
    )
    feedUnits(decoder, wish.lengths, wish.ptsNs, body)
    decoder.end()
    pump()
    await Promise.race([decoder.over, failed.promise])
    coder.end()
    await Promise.race([coder.over, failed.promise])
    return made
  } finally {
    await Promise.all([decoder.close(), coder?.close()])
  }
}

async function dropFlows(): Promise<void> {
  await Promise.all([decoding.drop(), coding.drop()])
}

async function answer({ body, head }: WorkerMessage): Promise<void> {
  const { id, ...rest } = head as unknown as (PictureWish | LookWish | FilmWish) & { id: number }
  try {
    if (rest.kind === 'film') {
      // Each of them takes what there is of memory.
      await dropFlows()
      const made = await filmOf(rest as FilmWish, body)
      const about = { lengths: made.map(({ bytes }) => bytes.length), ptsNs: made.map(({ ptsNs }) => ptsNs) }
      send(
        { kind: 'made', id, ...about },
        made.map(({ bytes }) => bytes),
      )
    } else {
      const wish = rest as PictureWish
      const sample = await decodeLast(wish, body)
      const made = wish.kind === 'look' ? await lookOf(sample, wish as LookWish) : [await stillOf(sample, wish)]
      send({ kind: 'made', id }, made)
    }
  } catch (error) {
    // What one camera broke is no other's.
    await dropFlows()
    send({ kind: 'fault', id, why: (error as Error).message.slice(0, 500) })
  }
}

const read = createWorkerReader(MOST_MESSAGE_BYTES)
socket.on('data', (chunk) => {
  for (const message of read(chunk)) void answer(message)
})
