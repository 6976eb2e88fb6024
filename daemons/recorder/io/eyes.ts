/**
 * The process `plantroom-eyes`: a detector that looks at pictures by a network in an ONNX file, and speaks the detector protocol on
 * its standard input and output. It is a program of its own, in a package of its own: it may crash, hang or be missing.
 *
 *     plantroom-eyes [MANIFEST]    the network that its manifest describes; without one, that of the package
 */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { readBoxes, type SeenBox } from '../wire/model-boxes.ts'
import { type NetworkInput, networkInput, type RgbPicture, toldBoxes } from '../wire/model-input.ts'
import { MOST_MANIFEST_BYTES, type ModelManifest, readManifest } from '../wire/model-manifest.ts'
import { createWorkerReader, type WorkerMessage, writeWorkerMessage } from '../wire/worker-message.ts'
import { loadPlateReader, type PlateReader } from './eyes-plates.ts'
import { loadNetworkFile, readFileOf, sentenceOf } from './eyes-runtime.ts'

const PROTOCOL = 1
/** A picture of 1920 x 1080. */
const MOST_BODY_BYTES = 6_220_800
const MOST_BOXES = 256

/** A network that is loaded. */
interface Network {
  manifest: ModelManifest
  look(input: NetworkInput): Promise<SeenBox[]>
}

/** What of persons and vehicles it can tell. */
interface Recognition {
  plate?: PlateReader
}

function send(head: object): void {
  for (const part of writeWorkerMessage(head, [], { isLittleEndian: true })) process.stdout.write(part)
}

/** @throws Fault `bad_model`, `model_unfit`; or as the runtime says */
async function loadNetwork(manifestPath: string): Promise<Network> {
  const manifest = readManifest(readFileOf(manifestPath, 'manifest', MOST_MANIFEST_BYTES).toString())
  const network = await loadNetworkFile(join(dirname(manifestPath), manifest.file), manifest.sha256)
  const outputs = manifest.outputs.length > 0 ? manifest.outputs : network.outputNames

  async function look(input: NetworkInput): Promise<SeenBox[]> {
    const { overlap, weak } = manifest.thresholds
    const { height, width } = input
    const reading = { width, height, labels: manifest.labels.length, score: weak, overlap, most: MOST_BOXES }
    return readBoxes(manifest.decoder, await network.compute(input, outputs), reading)
  }
  return { manifest, look }
}

/** What is beside the model that comes along, in a package of its own; without it, or where it is broken, the rest works. */
async function loadRecognition(): Promise<Recognition> {
  const path = join(import.meta.dirname, 'models/plates/manifest.json')
  if (!existsSync(path)) return {}
  try {
    return { plate: await loadPlateReader(path) }
  } catch (error) {
    process.stderr.write(`Plates are not read. ${sentenceOf(error)}\n`)
    return {}
  }
}

/** A grey picture of each size: what does not fit is known before the first real one. */
async function tryOut({ look, manifest }: Network): Promise<void> {
  for (const [width, height] of manifest.input.sizes)
    await look(networkInput({ width, height, rgb: new Uint8Array(width * height * 3).fill(128) }, manifest.input))
}

/** @throws Error */
function pictureOf({ body, head: { format, height, width } }: WorkerMessage): RgbPicture {
  if (format !== 'rgb24' || body.length === 0 || body.length !== Number(width) * Number(height) * 3)
    throw new Fault('bad_picture', `The picture is not ${width} x ${height} pixels of rgb24.`)
  return { width: Number(width), height: Number(height), rgb: body }
}

async function judge({ look, manifest }: Network, picture: RgbPicture) {
  const input = networkInput(picture, manifest.input)
  return { kind: 'boxes', boxes: toldBoxes(await look(input), input.filled, manifest) }
}

async function recognise({ plate }: Recognition, picture: RgbPicture) {
  return { kind: 'recognised', plates: plate ? await plate(picture) : [] }
}

async function answer(work: (picture: RgbPicture) => Promise<object>, message: WorkerMessage): Promise<void> {
  const { id } = message.head
  try {
    const startedAt = performance.now()
    const found = await work(pictureOf(message))
    send({ ...found, id, took_ms: Math.round(10 * (performance.now() - startedAt)) / 10 })
  } catch (error) {
    send({ kind: 'failed', id, why: sentenceOf(error) })
  }
}

async function begin(): Promise<void> {
  const path = resolve(process.argv[2] ?? join(import.meta.dirname, 'models/nanodet-g/manifest.json'))
  const network = await loadNetwork(path)
  await tryOut(network)
  const recognition = await loadRecognition()
  const { input, labels, name } = network.manifest
  const told = [...new Set(labels.filter((label) => label !== null))]
  const width = Math.max(...input.sizes.map(([each]) => each))
  const height = Math.max(...input.sizes.map(([, each]) => each))
  const recognises = Object.keys(recognition)
  send({ kind: 'ready', protocol: PROTOCOL, name: `plantroom-eyes, ${name}`, labels: told, width, height, recognises })
  const read = createWorkerReader(MOST_BODY_BYTES, { isLittleEndian: true })
  // One after the other, whatever the other side does.
  let last = Promise.resolve()
  process.stdin.on('data', (chunk: Uint8Array) => {
    for (const message of read(chunk)) {
      const { kind } = message.head
      if (kind === 'picture') last = last.then(() => answer((picture) => judge(network, picture), message))
      else if (kind === 'recognise')
        last = last.then(() => answer((picture) => recognise(recognition, picture), message))
    }
  })
}

process.title = 'plantroom-eyes'
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))
begin().catch((error) => {
  send({ kind: 'fault', why: sentenceOf(error) })
  process.stdout.end(() => process.exit(1))
})
